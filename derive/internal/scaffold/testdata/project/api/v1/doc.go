// Package v1 is version v1 of the API group group.example.com.
package v1
