package main

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestProbes(t *testing.T) {
	waiting := errors.New("waiting for the widgets")
	for _, tt := range []struct {
		name, path string
		ready      error
		code       int
	}{
		{"a program that waits is alive", "/livez", waiting, 200},
		{"and says what it waits for", "/readyz", waiting, 503},
		{"until it is ready", "/readyz", nil, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := httptest.NewRecorder()
			answer(func() error { return tt.ready }).ServeHTTP(got, httptest.NewRequest("GET", tt.path, nil))
			if got.Code != tt.code || tt.code == 503 && !strings.Contains(got.Body.String(), waiting.Error()) {
				t.Errorf("GET %s = %d %s, want %d", tt.path, got.Code, got.Body, tt.code)
			}
		})
	}
}
