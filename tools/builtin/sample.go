package builtin

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// maxCopies bounds the copies of one order_print.
const maxCopies = 20

// Sample returns order_print, which needs the user's approval and sends
// nothing: it lets users try approvals without configuration. It is offered on
// every page.
func Sample() []turn.Tool {
	return []turn.Tool{tools.NewText("order_print", "Order printed copies of a research report. The user has to approve each order. It is a sample: nothing is printed or sent.",
		orderPrint, tools.Words("Order printed copies", "Ordered printed copies|Ordered printed copies {n} times"), tools.Global(), tools.InChat(), tools.Confirm(), tools.Refine(func(s *jsonschema.Schema) {
			atLeast(s, 1, "report_id")
			between(s, "copies", 1, maxCopies)
		}))}
}

type printOrder struct {
	ReportID int64 `json:"report_id" jsonschema:"id of the report"`
	Copies   int   `json:"copies" jsonschema:"how many copies"`
}

func orderPrint(_ context.Context, call *tools.Call, in printOrder) (string, error) {
	return fmt.Sprintf("Order %s is placed: %s of report %d. It is a sample order; nothing is printed or sent.",
		turn.BlockID(call.RunID, call.Index, call.Name, 0)[:8], counted(in.Copies, "printed copy", "printed copies"), in.ReportID), nil
}
