// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kube-go/sdk/core/abi"
)

// TestHeadOfARequestNeedsLittleMemory has heads of the maximum size, and of the size of a message.
func TestHeadOfARequestNeedsLittleMemory(t *testing.T) {
	for name, element := range map[string]func(n int) string{
		"names":  func(n int) string { return fmt.Sprintf(`"%x":[""]`, n) },
		"values": func(n int) string { return fmt.Sprintf(`"a%d":[%s""]`, n, strings.Repeat(`"",`, 300)) },
	} {
		for limit, want := range map[int]error{abi.MaxHead: nil, abi.MaxMessage - 4: abi.TooLarge} {
			var head strings.Builder
			head.WriteString(`{"method":"GET","url":"/x","header":{`)
			for n := 0; head.Len() < limit-2000; n++ {
				if n > 0 {
					head.WriteByte(',')
				}
				head.WriteString(element(n))
			}
			head.WriteString("}}")
			message := append(binary.LittleEndian.AppendUint32(nil, uint32(head.Len())), head.String()...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			i := &instance{guest: &guest{}}
			_, err := i.newRequest(t.Context(), abi.OpRequest, message)
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s: a message of %d bytes has allocated %d bytes", name, len(message), used)
			if err != want || used > 4<<20 {
				t.Errorf("%s of a message of %d bytes = %v with %d bytes allocated, want %v", name, len(message), err, used, want)
			}
		}
	}
}
