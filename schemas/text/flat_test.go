package text_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/text"
)

// Plain text of mark-up means what the mark-up means.
func TestFlat(t *testing.T) {
	for markup, want := range map[string]string{
		`CO<sub>2</sub>, Ca<sup>2+</sup>, 19<sup>th</sup>`:                                                                       "CO2, Ca^2+, 19th",
		`2<sup>½</sup>, m<sup>‑1</sup>, 10<sup> <b>-6</b></sup>`:                                                                 "2^½, m^‑1, 10 ^-6",
		`y<sup>2</sup><sub>1</sub>, z<sub>1</sub><sup>2</sup>, a<sub>1</sub>`:                                                    "y^2_1, z1^2, a1",
		`<msup><mn>10</mn><mrow> <mo>-</mo><mn>6</mn></mrow></msup>`:                                                             "10^ -6",
		`<msup><mi>x</mi><mfrac><mn>2</mn><mn>3</mn></mfrac></msup>`:                                                             "x^(2/3)",
		`<mfrac><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac>`:            "xi^2/(a+b)",
		`<mfrac><mfrac><mn>1</mn><mn>2</mn></mfrac><mrow><mn>3</mn></mrow></mfrac><mo>=</mo><mfrac><mi>a</mi><mi>b</mi></mfrac>`: "(1/2)/3=a/b",
	} {
		var flat text.Flat
		for d := xml.NewDecoder(strings.NewReader("<p>" + markup + "</p>")); ; {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch x := token.(type) {
			case xml.StartElement:
				flat.Start(x.Name.Local)
			case xml.EndElement:
				flat.End()
			case xml.CharData:
				flat.Text(string(x))
			}
		}
		if got := flat.String(); got != want {
			t.Errorf("%s: got %q, want %q", markup, got, want)
		}
	}
}
