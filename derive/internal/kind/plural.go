// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"strings"
	"unicode"
)

// Pluralize returns the plural of a kind in lower case. It follows the rules of controller-gen, so that a CRD has the
// same name with both tools: SecretIndex → secretindices, Triggers → triggers.
func Pluralize(name string) string {
	at := lastWord(name)
	before, word := strings.ToLower(name[:at]), strings.ToLower(name[at:])
	if name[at:] == strings.ToUpper(name[at:]) { // an acronym: DNS, VPC
		if strings.HasSuffix(word, "s") {
			return before + word + "es"
		}
		return before + word + "s"
	}
	for pair := range strings.FieldsSeq(wholeWords) {
		one, many, _ := strings.Cut(pair, ":")
		if word == one || word == many {
			return before + many
		}
	}
	for pair := range strings.FieldsSeq(endings) {
		one, many, _ := strings.Cut(pair, ":")
		if strings.HasSuffix(word, many) {
			return before + word
		}
		if stem, ok := strings.CutSuffix(word, one); ok {
			return before + stem + many
		}
	}
	return before + strings.TrimSuffix(word, "s") + "s"
}

// lastWord returns the index of the last word of a name in camel case.
func lastWord(name string) int {
	at := 0
	var before rune
	for i, r := range name {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			at = i
		}
		before = r
	}
	return at
}

// wholeWords are plurals of words that do not apply to longer words with the same ending.
const wholeWords = "ox:oxen louse:lice die:dice axis:axes alias:aliases use:uses toe:toes"

// endings are the endings of words and of their plurals. The first match counts: irregular words are first, then rules,
// and exceptions of a rule before the rule.
const endings = `
	graffiti:graffiti shoe:shoes formula:formulas agenda:agendas cookie:cookies movie:movies move:moves hive:hives
	thief:thieves hoof:hoofs dwarf:dwarfs rice:rice news:news money:money jeans:jeans information:information
	equipment:equipment tomato:tomatoes potato:potatoes buffalo:buffaloes topaz:topazes ache:aches pause:pauses
	muse:muses misuse:misuses house:houses fuse:fuses excuse:excuses cruse:cruses clause:clauses cause:causes abuse:abuses
	basis:bases base:bases testis:testes thesis:theses oasis:oases genesis:geneses ellipsis:ellipses crisis:crises
	helix:helices radix:radices appendix:appendices vortex:vortices vertex:vertices latex:latices index:indices
	codex:codices apex:apices uva:uvae larva:larvae vita:vitae minutia:minutiae differentia:differentiae
	vertebra:vertebrae alumna:alumnae genus:genera corpus:corpora syllabus:syllabi radius:radii nucleus:nuclei locus:loci
	focus:foci coccus:cocci cactus:cacti bacillus:bacilli alumnus:alumni quota:quotas curriculum:curriculums
	symposium:symposia auditorium:auditoria aquarium:aquaria stadium:stadiums medium:media media:media taxon:taxa
	phenomenon:phenomena lexicon:lexica criterion:criteria bureau:bureaus person:people woman:women tooth:teeth
	mouse:mice human:humans man:men goose:geese foot:feet child:children
	you:you tuna:tuna trout:trout swine:swine species:species shrimp:shrimp sheep:sheep series:series salmon:salmon
	police:police moose:moose fish:fish deer:deer chassis:chassis blues:blues bison:bison beef:beef aircraft:aircraft
	tive:tives eaf:eaves oaf:oaves afe:aves arf:arves rfe:rves rf:rves lf:lves fe:ves
	ay:ays ey:eys oy:oys quy:quies uy:uys y:ies eau:eaux hedron:hedra
	ium:ia seum:seums eum:ea oum:oa dum:da elum:ela ilum:ila olum:ola ulum:ula llum:lla ylum:yla imum:ima ernum:erna
	gnum:gna brum:bra crum:cra terum:tera serum:sera trum:tra antum:anta atum:ata entum:enta etum:eta itum:ita otum:ota
	utum:uta ctum:cta ovum:ova trix:trices
	iasis:iases mesis:meses kinesis:kineses resis:reses gnosis:gnoses opsis:opses ysis:yses ouse:ouses lause:lauses us:uses
	ch:ches io:ios sh:shes ss:sses ez:ezzes iz:izzes tz:tzes zz:zzes ano:anos lo:los to:tos oo:oos o:oes x:xes`
