// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"

	"github.com/kube-go/sdk/derive/internal/structural"
)

func TestProse(t *testing.T) {
	for _, tt := range []struct{ name, in, markdown, html string }{
		{"nothing", "", "", ""},
		{"paragraphs keep their lines", "A\nb.\n\nC.", "A\nb.\n\nC.", "<p>A\nb.</p>\n<p>C.</p>\n"},
		{"text that looks like a tag stays visible", "Use <name> & {x}.", `Use \<name> & \{x}.`, "<p>Use &lt;name&gt; &amp; {x}.</p>\n"},
		{"code is not changed", "Use `<name>`.", "Use `<name>`.", "<p>Use <code>&lt;name&gt;</code>.</p>\n"},
		{"code with backquotes", "Use ``a`b``.", "Use ``a`b``.", "<p>Use <code>a`b</code>.</p>\n"},
		{
			"addresses are links", "See https://example.com/a?b=1&c=<d>.", `See https://example.com/a?b=1&c=\<d>.`,
			"<p>See <a href=\"https://example.com/a?b=1&amp;c=\">https://example.com/a?b=1&amp;c=</a>&lt;d&gt;.</p>\n",
		},
		{"lists", "One of:\n- a, which\n  goes on\n* b", "One of:\n\n- a, which goes on\n- b", "<p>One of:</p>\n<ul>\n<li>a, which goes on</li>\n<li>b</li>\n</ul>\n"},
		{"numbered lists", "1. a\n2) b", "- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"},
		{
			"indented code", "Such as\n\n\tspec:\n\t  a: <b>\n\n\tend\n\nor not", "Such as\n\n```\nspec:\n  a: <b>\n\nend\n```\n\nor not",
			"<p>Such as</p>\n<pre><code>spec:\n  a: &lt;b&gt;\n\nend</code></pre>\n<p>or not</p>\n",
		},
		{"fenced code", "Such as\n```yaml\na: 1\n\nb: 2\n```\nor not", "Such as\n\n```\na: 1\n\nb: 2\n```\n\nor not", "<p>Such as</p>\n<pre><code>a: 1\n\nb: 2</code></pre>\n<p>or not</p>\n"},
	} {
		if got := markdownText(tt.in); got != tt.markdown {
			t.Errorf("%s: Markdown = %q, want %q", tt.name, got, tt.markdown)
		}
		if got := htmlText(tt.in); got != tt.html {
			t.Errorf("%s: HTML = %q, want %q", tt.name, got, tt.html)
		}
	}
}

// FuzzProse checks that no text causes a panic, or adds a tag to the HTML.
func FuzzProse(f *testing.F) {
	f.Add("a `b` <script>alert(1)</script> https://x.example/\"onclick=")
	f.Add("```\n<b>\n")
	f.Add("\t- <a>\n\n1. `<b")
	ours := strings.NewReplacer("<p>", "", "</p>", "", "<ul>", "", "</ul>", "", "<li>", "", "</li>", "", "<pre>", "", "</pre>", "",
		"<code>", "", "</code>", "", "</a>", "", `<a href="`, "", `">`, "")
	f.Fuzz(func(t *testing.T, text string) {
		markdownText(text)
		if rest := ours.Replace(htmlText(text)); strings.ContainsAny(rest, `<>"`) {
			t.Errorf("HTML of %q has %q in it", text, rest)
		}
	})
}

func TestLinks(t *testing.T) {
	for _, tt := range []struct{ pkg, version, name, want string }{
		{"k8s.io/api/core/v1", "v0.33.1", "PodSpec", "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.33/#podspec-v1-core"},
		{"k8s.io/api/apps/v1", "v0.33.1", "DeploymentSpec", "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.33/#deploymentspec-v1-apps"},
		{"k8s.io/api/rbac/v1", "v0.33.1", "PolicyRule", "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.33/#policyrule-v1-rbac-authorization-k8s-io"},
		{"k8s.io/api/networking/v1beta1", "v0.33.1", "IPAddress", "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.33/#ipaddress-v1beta1-networking-k8s-io"},
		{"k8s.io/apimachinery/pkg/apis/meta/v1", "v0.33.1", "Condition", "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.33/#condition-v1-meta"},
		{"k8s.io/apimachinery/pkg/api/resource", "v0.33.1", "Quantity", "https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity"},
		{"k8s.io/api/core/v1", "", "PodSpec", "https://pkg.go.dev/k8s.io/api/core/v1#PodSpec"},
		{"example.com/a", "v1.2.3", "Pair[int32]", "https://pkg.go.dev/example.com/a#Pair"},
	} {
		if got := Link(tt.pkg, tt.version, tt.name); got != tt.want {
			t.Errorf("Link(%q, %q, %q) = %s, want %s", tt.pkg, tt.version, tt.name, got, tt.want)
		}
	}
}

func TestSplitDef(t *testing.T) {
	for _, tt := range []struct{ def, pkg, name string }{
		{"example.com/a.B", "example.com/a", "B"},
		{"example.com/a.v2/b.C", "example.com/a.v2/b", "C"},
		{"example.com/a.Pair[int32]", "example.com/a", "Pair[int32]"},
		{"example.com/a.Pair[*example.com/b.C,string]", "example.com/a", "Pair[*C, string]"},
		{"example.com/a.List[[]example.com/b.C]", "example.com/a", "List[[]C]"},
	} {
		if pkg, name := splitDef(tt.def); pkg != tt.pkg || name != tt.name {
			t.Errorf("splitDef(%q) = %q, %q, want %q, %q", tt.def, pkg, name, tt.pkg, tt.name)
		}
	}
}

func TestMessagesOfRulesAreEscapedForTheirFormat(t *testing.T) {
	page := &Page{Types: []*Type{{Name: "Size", Anchor: "size", Rules: ofValue([]structural.Rule{{
		Rule: "self < 5", Message: "must be < 5, such as `{n<5}`",
	}})}}}
	const markdown = "- Rule: `self < 5`, otherwise: must be \\< 5, such as `{n<5}`\n"
	if got := string(page.Markdown()); !strings.Contains(got, markdown) {
		t.Errorf("Markdown lacks %q:\n%s", markdown, got)
	}
	got, err := page.HTML()
	const html = "otherwise: must be &lt; 5, such as <code>{n&lt;5}</code></p>"
	if err != nil || !strings.Contains(string(got), html) {
		t.Errorf("HTML lacks %q: %v\n%s", html, err, got)
	}
}
