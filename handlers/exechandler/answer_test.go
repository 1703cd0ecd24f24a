package exechandler

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAnAnswerThatMakesNoSenseIsRefused(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                    "EOF",
		"\xff":                                "not UTF-8",
		"null":                                "no id",
		`{"id":"1","ok":true}`:                "cannot unmarshal",
		`{"id":-1,"ok":true}`:                 "cannot unmarshal",
		`{"id":1}`:                            "exactly one of",
		`{"id":1,"ok":true,"error":"e"}`:      "exactly one of",
		`{"id":1,"ok":true,"skip":"s"}`:       "exactly one of",
		`{"id":1,"skip":"s","error":"e"}`:     "exactly one of",
		`{"id":1,"ok":true,"permanent":true}`: `go with "error" only`,
		`{"id":1,"skip":"s","class":"c"}`:     `"class" goes with "error" only`,
		`{"id":1,"error":"e","produce":[{"topic":"t"}]}`:                              `"produce" goes with "ok" only`,
		`{"id":1,"error":"e","permanent":true,"uncertain":true}`:                      "at most one of",
		`{"id":1,"error":"e","permanent":true,"retry_after":"1s"}`:                    "at most one of",
		`{"id":1,"error":"e","retry_after":"soon"}`:                                   `"retry_after" "soon"`,
		`{"id":1,"error":"e","retry_after":"30"}`:                                     `"retry_after" "30"`,
		`{"id":1,"error":"e","retry_after":"-1s"}`:                                    `"retry_after" "-1s"`,
		`{"id":1,"error":"e","retry_after":"0s"}`:                                     `"retry_after" "0s"`,
		`{"id":1,"ok":true,"produce":[{"topic":"t"},{}]}`:                             "element 1: no topic",
		`{"id":1,"ok":true,"produce":[{"topic":"t","key":"k","key_base64":""}]}`:      "both key and key_base64",
		`{"id":1,"ok":true,"produce":[{"topic":"t","value":"","value_base64":"AA"}]}`: "base64",
		`{"id":1,"ok":true,"produce":[{"topic":"t","headers":[["k"]]}]}`:              "header 0",
		`{"id":1,"ok":true,"produce":[{"topic":"t","headers":[[null,"v"]]}]}`:         "header 0",
		`{"id":1,"ok":true,"produce":[{"topic":"t","headers":[["k",1]]}]}`:            "cannot unmarshal",
		`{"id":1,"ok":true,"produce":[{"topic":"t","headers":[["k",{}]]}]}`:           `object without "base64"`,
		`{"id":1,"ok":true,"produce":[{"topic":"t","headers":[["k",{"base":""}]]}]}`:  "unknown field",
		`{"id":1,"ok":true,"produce":[{"topic":"t","partition":1}]}`:                  "unknown field",
	} {
		if a, err := decodeAnswer([]byte(answer), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("decodeAnswer(%s) = %+v, %v, want an error with %q", answer, a, err, want)
		}
	}
}

func TestAQuoteIsShortAndValid(t *testing.T) {
	got := quote([]byte(strings.Repeat("é", 500)))
	if len(got) > 4*maxQuote || !utf8.ValidString(got) || !strings.HasSuffix(got, "… (1000 bytes)") {
		t.Errorf("quote = %s", got)
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"ok":true}`,
		`{"id":1,"error":"e","class":"c","permanent":true}`,
		`{"id":1,"error":"e","retry_after":"30s"}`,
		`{"id":1,"skip":"s"}`,
		`{"id":1,"ok":true,"produce":[{"topic":"t","key":"k","value_base64":"/w==","headers":[["a",null],["b",{"base64":"AA=="}]]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := decodeAnswer(line, 1)
		if err != nil {
			if a != nil || len(err.Error()) > 1000+len(line) {
				t.Errorf("decodeAnswer = %v, error of %d bytes", a, len(err.Error()))
			}
			return
		}
		if a.OK != (a.outcome() == nil) {
			t.Errorf("ok is %t, but the outcome is %v", a.OK, a.outcome())
		}
		if len(a.records) != len(a.Produce) || len(a.records) > 0 && !a.OK {
			t.Errorf("%d records of %d outputs, ok %t", len(a.records), len(a.Produce), a.OK)
		}
		for _, r := range a.records {
			if r.Topic == "" {
				t.Error("a record without a topic")
			}
		}
	})
}
