// Package outage takes the database of the service away and gives it back.
package outage
