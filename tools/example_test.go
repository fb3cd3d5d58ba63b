package tools_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/tools"
)

func ExampleNew() {
	type greeting struct {
		Name string `json:"name" jsonschema:"who is greeted"`
	}
	greet := tools.New("greet", "Greet somebody.", func(_ context.Context, call *tools.Call, in greeting) (tools.Result, error) {
		call.Progress("greeting", "Greeting "+in.Name, 0.5, nil)
		return tools.WithPayload("Hello "+in.Name+".", "greeting", map[string]string{"to": in.Name})
	}, tools.Global(), tools.Idempotent(), tools.PayloadType("greeting"))
	registry, err := tools.NewRegistry(greet)
	if err != nil {
		fmt.Println(err)
		return
	}
	offered, _ := registry.Resolve(nil, schemas.User{})
	fmt.Println(offered[0].Check(json.RawMessage(`{"nam":"Ada"}`)))
	result, _ := offered[0].Run(context.Background(), &tools.Call{Input: json.RawMessage(`{"name":"Ada"}`)})
	fmt.Println(result.Text, string(result.Payload.Data))
	// Output:
	// "name" is required: a string (who is greeted); there is no field "nam"; the fields are: name
	// Hello Ada. {"to":"Ada"}
}
