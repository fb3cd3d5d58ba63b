package agui

import (
	"encoding/json"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

const (
	// defaultAgent is the agent of questions that belong to no page.
	defaultAgent = "default"
	// runtimeVersion is the version of CopilotKit's runtime whose routes these are.
	runtimeVersion = "1.75.0"
)

// info answers with the agents, one for each page.
func info(c *wires.Call) error {
	agents := object{defaultAgent: object{"name": defaultAgent, "description": "The assistant"}}
	for _, p := range c.Service.Pages() {
		if p.Page != defaultAgent {
			agents[p.Page] = object{"name": p.Page, "description": "The assistant on the page " + p.Page}
		}
	}
	return c.Respond(object{
		"version": runtimeVersion, "agents": agents, "mode": "sse", "audioFileTranscriptionEnabled": false,
		"threadEndpoints": object{"list": true, "inspect": true, "mutations": false, "realtimeMetadata": false},
		"suggestions":     false, "a2uiEnabled": false, "openGenerativeUIEnabled": false, "telemetryDisabled": true,
	})
}

// single is for clients that have one endpoint for all methods: what the other routes have in
// their paths and bodies is in the body.
func single(c *wires.Call) error {
	var in struct {
		Method string `json:"method"`
		Params struct {
			AgentID  string `json:"agentId"`
			ThreadID string `json:"threadId"`
		} `json:"params"`
		Body json.RawMessage `json:"body"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	var handle func(*wires.Call) error
	switch in.Method {
	case "info":
		return info(c)
	case "agent/run":
		if err := c.Count(); err != nil {
			return err
		}
		handle = post
	case "agent/connect":
		handle = connect
	case "agent/stop":
		handle = stopThread
	default:
		return schemas.Invalid("/method", "must be info, agent/run, agent/connect or agent/stop")
	}
	switch {
	case in.Method == "agent/stop" && in.Params.ThreadID == "":
		return schemas.Invalid("/params/threadId", "is required")
	case in.Method != "agent/stop" && len(in.Body) == 0:
		return schemas.Invalid("/body", "is required")
	}
	params := map[string]string{"agent": in.Params.AgentID, "thread": in.Params.ThreadID} // without in, which has the body
	c.Body, c.Param = in.Body, func(name string) string { return params[name] }
	return wires.Repointed(handle(c), func(pointer string) string { return "/body" + pointer })
}

// connect answers with the thread's messages, and then with its live run.
func connect(c *wires.Call) error {
	to, err := c.Service.Stream(c)
	if err != nil {
		return err
	}
	defer to.Close()
	in, err := decode(c)
	if err != nil {
		return err
	}
	chat, err := c.Service.Chat(c.Context(), c.User, in.ThreadID)
	if err != nil {
		return err
	}
	who := in.client()
	if chat.ConversationID != 0 {
		if err := c.Large(); err != nil {
			return err
		}
		have, err := c.Service.Current(c.Context(), c.User, chat)
		if err != nil {
			return err
		}
		who.history = schemas.Encode(stored(have, chat.ActiveRunID))
		c.Made(len(who.history))
	}
	if chat.ActiveRunID != "" {
		run, err := c.Service.Runs.Run(c.Context(), c.User, chat.ActiveRunID)
		if err != nil {
			return err
		}
		return c.Service.Serve(c, to, wires.Response{Run: run, Table: newTable(who), Number: number})
	}
	c.Done()
	var out wires.Frames
	t := build(wires.Params{}, who)
	t.start(&out)
	out.Typed("RUN_FINISHED", object{"threadId": who.thread, "runId": who.run})
	return c.Service.ServeFrames(c, to, &out)
}

// thread is a chat as CopilotKit lists it.
func thread(chat *schemas.Chat) object {
	return object{
		"id": chat.ChatID, "name": chat.Title, "agentId": defaultAgent, "archived": chat.Archived,
		"createdAt": chat.CreatedAt, "updatedAt": chat.UpdatedAt,
	}
}

// threads lists the user's chats.
func threads(c *wires.Call) error {
	n, err := limit(c)
	if err != nil {
		return err
	}
	page, err := c.Service.Chats.List(c.Context(), c.User, record.ChatQuery{Limit: n, Cursor: c.URL.Query().Get("cursor")})
	if err != nil {
		return err
	}
	list := make([]object, len(page.Items))
	for i := range page.Items {
		list[i] = thread(&page.Items[i])
	}
	out := object{"threads": list, "nextCursor": nil}
	if page.NextCursor != "" {
		out["nextCursor"] = page.NextCursor
	}
	return c.Respond(out)
}

// threadMessages answers with a thread's messages.
func threadMessages(c *wires.Call) error {
	chat, err := c.Service.Chat(c.Context(), c.User, c.Param("thread"))
	if err != nil {
		return err
	}
	if chat.ConversationID == 0 {
		return schemas.ErrNotFound
	}
	if err := c.Large(); err != nil {
		return err
	}
	have, err := c.Service.Current(c.Context(), c.User, chat)
	if err != nil {
		return err
	}
	return c.Respond(object{"messages": stored(have, chat.ActiveRunID)})
}
