// Package sockets conversations to the whole service over websockets.
package sockets
