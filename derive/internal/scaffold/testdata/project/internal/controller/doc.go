// Package controller makes the world as objects of the kind Widget ask: it publishes the message of each in a ConfigMap.
package controller
