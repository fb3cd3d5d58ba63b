// Package outage makes the service's database unavailable and available again.
package outage
