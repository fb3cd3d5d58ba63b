//go:build !race

package storetest

// raceFactor is how much longer things may take under the race detector.
const raceFactor = 1
