// Package sockets tests the whole service over websockets.
package sockets
