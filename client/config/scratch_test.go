package config_test
import ("testing";"fmt";"github.com/kube-go/sdk/client/config")
func TestScratch(t *testing.T){
 for _, s := range []string{
 "a: b: c", "\n\nx:\n  - a\n b: c\n", "token: *hunter2", "x: !!int hunter2", "? {a: hunter2}\n: b", "? [a, hunter2]\n: b","a: 1\na: 2\n", "\ta: 1", "a: \"unterminated", "{", "[1,2]", "just text", "a: \x00", "a: \xff",
 "clusters: {}", "clusters: [1]", "clusters: [{name: x, cluster: {server: 12}}]", "clusters: [{name: x, cluster: {server: 12, certificate-authority-data: '%%%'}}, {name: 3}]",
 "kind: Pod", "apiVersion: v2", "base: &b {server: https://x}\nclusters:\n- name: a\n  cluster:\n    <<: *b\n    server: https://y\n",
 "a: &a [*a]", "users: [{name: x, user: {exec: {env: [{name: x, value: 1}]}}}]", "users: [{name: x, user: {as-groups: x, as-user-extra: {a: b}, client-key-data: 1, auth-provider: {name: oidc, config: {a: 1}}}}]",
 "---\n# c\n---\na: 1\n---\nb: c: d\n", "a: &x {b: c}\nd: {<<: 1}", "users: [{name: a},{name: a},{name: a}]\nclusters: [{name: ''},{name: ''}]", "a: 2020-01-01\nb: 1e400\nc: .inf", "users: [{name: x, user: {client-key-data: 'QUJ'}}]",
 "insecure-skip-tls-verify: yes","clusters: [{name: x, cluster: {insecure-skip-tls-verify: yes}}]","clusters: [{name: x, cluster: {insecure-skip-tls-verify: 'true'}}]",
 } {
  kc, err := config.Parse([]byte(s), "/k")
  fmt.Printf("%q\n   -> %v\n", s, err)
  if err == nil { out, err := kc.Encode(); fmt.Printf("   %q %v\n", out, err) }
 }
}
