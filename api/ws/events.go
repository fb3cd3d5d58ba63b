package ws

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// handle does what one frame says.
func (k *socket) handle(ctx context.Context, frame []byte) {
	e, err := bodies.Parse[schemas.SocketEvent](frame, k.server.Rules)
	if err != nil {
		to, blocks := about(frame)
		k.refuse(ctx, ofFrame(err, nil), blocks, to)
		return
	}
	blocks, err := targets(&e)
	if err == nil && e.UserID != "" && e.UserID != k.user.ID {
		err = k.notUser()
	}
	if err == nil {
		err = k.act(ctx, &e, blocks)
	}
	if err != nil {
		k.refuse(ctx, ofFrame(err, &e), blocks, schemas.Chunk{EventID: e.ID, ApprovalID: e.ApprovalID, ToolUseID: e.ToolUseID})
	}
}

// targets are the blocks that an event names.
func targets(e *schemas.SocketEvent) ([]string, error) {
	var list []string
	for id := range strings.SplitSeq(e.BlockID+","+e.BlockIDs, ",") {
		id = strings.TrimSpace(id)
		switch {
		case id == "", slices.Contains(list, id):
		case !text.IsID(id), len(list) == turn.MaxTargets:
			return nil, bodies.FieldsError(schemas.CodeInvalid, "the event has values that are not allowed", []schemas.FieldError{
				{Pointer: blocksMember(e), Detail: "must be at most 16 ids of letters, digits, - and _, comma separated"},
			})
		default:
			list = append(list, id)
		}
	}
	return list, nil
}

func (k *socket) act(ctx context.Context, sent *schemas.SocketEvent, blocks []string) error {
	e, err := k.placed(ctx, sent, blocks)
	if err != nil {
		return err
	}
	chat := e.ChatID
	if chat == "" {
		chat = e.DocumentID // without a chat, the document's id names one
	}
	switch e.Name {
	case "message", "chat_message":
		if chat == "" {
			chat = uuid.Must(uuid.NewV7()).String()
		}
		return k.message(ctx, e, chat, blocks, once(sent))
	}
	if e.ID != "" { // the ack comes before what the event brings
		k.sending.Lock()
		defer k.sending.Unlock()
	}
	done := schemas.Chunk{RunID: e.RunID, ChatID: chat, ApprovalID: e.ApprovalID, ToolUseID: e.ToolUseID}
	switch {
	case e.Name == "approve", e.Name == "tool_result":
		err = k.answer(ctx, e)
	case chat == "" && e.RunID == "" && len(blocks) > 0:
		err = schemas.ErrNotFound // none of the blocks is known
	case e.Name == "resume":
		err = k.resume(ctx, e, chat)
	case chat == "":
		err = schemas.NewError(schemas.CodeInvalid, e.Name+" needs a chat_id or a document_id")
	default:
		done.RunID = "" // it names no run
		err = k.interrupt(ctx, e, chat)
	}
	if err == nil {
		k.done(ctx, e, done)
	}
	return err
}

// placed returns the event with the document of its blocks if it names no
// document, or else with their chat. Of the events that name a chat, only a
// message is moved.
func (k *socket) placed(ctx context.Context, sent *schemas.SocketEvent, blocks []string) (*schemas.SocketEvent, error) {
	e := *sent
	message := e.Name == "message" || e.Name == "chat_message"
	if e.DocumentID != "" || !message && e.ChatID != "" || k.server.Documents == nil {
		return &e, nil
	}
	for _, id := range blocks {
		document, chat, err := k.server.Documents.Place(ctx, k.user, id)
		switch {
		case err != nil:
			return nil, err
		case document != "":
			e.DocumentID = document
			return &e, nil
		case e.ChatID == "":
			e.ChatID = chat
		}
	}
	return &e, nil
}

// once gives an event with an id an idempotency key, so that it starts one run,
// however often it is sent.
func once(e *schemas.SocketEvent) (o record.StartOptions) {
	if e.ID != "" {
		sum := sha256.Sum256(schemas.Encode(e))
		o = record.StartOptions{IdempotencyKey: e.ID, BodyHash: hex.EncodeToString(sum[:])}
	}
	return o
}

// message starts a run for the user's message; in a chat with one under way it
// waits for its turn, unless the event says otherwise.
func (k *socket) message(ctx context.Context, e *schemas.SocketEvent, chat string, blocks []string, o record.StartOptions) error {
	req := schemas.ChatRequest{
		ChatID: chat, Model: e.Model, IfBusy: cmp.Or(e.IfBusy, "queue"), Context: page(e, blocks),
		ConversationHistory: e.ConversationHistory, EditMessageID: e.EditMessageID,
		InteractionType: e.InteractionType, ActionMetadata: e.ActionMetadata, Attachments: e.Attachments, ClientTools: e.ClientTools,
	}
	if e.Message != nil {
		req.Message = e.Message.Content
	}
	if refused := k.server.Rules.Check(&req); len(refused) > 0 {
		return bodies.FieldsError(schemas.CodeInvalid, "the event has values that are not allowed", refused)
	}
	if err := k.server.Rate.Allow(k.user.ID); err != nil {
		return err
	}
	shown := k.shown()
	if err := k.listen(ctx, chat); err != nil {
		return err
	}
	run, err := k.server.Streams.Start(ctx, k.user, &req, o)
	if err != nil {
		if chat != e.ChatID && chat != e.DocumentID { // the client cannot name the chat to stop it
			k.unlisten(chat)
		}
		return err
	}
	if run.ChatID != chat { // the run was started before, in a chat that had no id yet
		k.unlisten(chat)
		if err := k.listen(ctx, run.ChatID); err != nil {
			return err
		}
	}
	k.done(ctx, e, schemas.Chunk{RunID: run.RunID, ChatID: run.ChatID, ConversationID: run.ConversationID})
	switch { // the other sockets have a run that was started before
	case run.Begun:
		k.server.Sockets.Started(ctx, k.user, run.ChatID, run.RunID)
	case slices.Contains(shown, run.RunID): // it is asked for again
		return k.watch(run.ChatID, run.RunID, 0)
	default:
		k.watchOnce(run.ChatID, run.RunID)
	}
	return nil
}

// page returns the context of the event's request. A document means the page of
// documents, and so does the mode agent if the client names no page.
func page(e *schemas.SocketEvent, blocks []string) schemas.Object {
	context := schemas.Object{}
	maps.Copy(context, e.Context)
	set := func(key, value string) {
		raw, err := json.Marshal(value)
		if value != "" && err == nil {
			context[key] = raw
		}
	}
	for _, key := range []string{turn.ContextBlocks, turn.ContextMode} {
		delete(context, key)
	}
	set(turn.ContextDocument, e.DocumentID)
	set(turn.ContextBlocks, strings.Join(blocks, ","))
	if e.Mode == "agent" && context.String("current_page") == "" || e.Mode != "agent" && e.DocumentID != "" {
		set("current_page", turn.DocumentPage)
	}
	if mode := e.Mode; mode == "" && e.DocumentID != "" {
		set(turn.ContextMode, "chat")
	} else {
		set(turn.ContextMode, mode)
	}
	return context
}

// named returns the runs that stop, pause and a resume without a run apply to: the runs of
// the chat or, if no chat is named or it has none, those of the document, from any chat.
func (k *socket) named(ctx context.Context, e *schemas.SocketEvent, chat string) ([]string, error) {
	live, err := k.server.Streams.Live(ctx, k.user, chat)
	if err != nil || e.DocumentID == "" || e.ChatID != "" && len(live) > 0 {
		return live, err
	}
	more, err := k.server.Streams.LiveIn(ctx, k.user, e.DocumentID)
	for _, id := range more {
		if !slices.Contains(live, id) {
			live = append(live, id)
		}
	}
	return live, err
}

// interrupt ends the running runs of a chat or a document; stop also ends those
// that wait, and stops watching the chat. The answer is sent once this is
// stored: from then on the runs end, even if the process is killed. Their ends
// follow in their chunks.
func (k *socket) interrupt(ctx context.Context, e *schemas.SocketEvent, chat string) error {
	stop := e.Name == "stop"
	live, err := k.named(ctx, e, chat)
	if err != nil {
		return err
	}
	text := map[bool]string{true: "Stopping...", false: "Pausing..."}[stop]
	if len(live) == 0 {
		text = "Nothing is under way."
	}
	tell := func() { k.send(ctx, &schemas.Chunk{Type: schemas.ChunkStatus, Content: &text, ChatID: chat}) }
	if stop {
		defer k.unlisten(chat)
	}
	durable := context.WithoutCancel(ctx) // the request counts even if the client goes away at once
	var ends []string
	for _, id := range slices.Backward(live) { // the waiting ones first
		if !stop || e.DocumentID != "" {
			run, err := k.server.Runs.Run(durable, k.user, id)
			switch {
			case err != nil:
				return err
			case stop:
				defer k.unlisten(run.ChatID)
			case run.State == schemas.RunQueued:
				continue
			}
		}
		ends = append(ends, id)
	}
	return k.server.Runs.CancelAll(durable, k.user, tell, ends...)
}

// resume shows a run from a number on, then the later runs of its chat that are in
// progress; without a run, all that are in progress, also those of a document. To a socket that comes
// back it also shows the later runs that have ended meanwhile, because the
// client has also missed the answers to messages that waited.
func (k *socket) resume(ctx context.Context, e *schemas.SocketEvent, chat string) error {
	if e.RunID == "" && e.After > 0 {
		return schemas.NewError(schemas.CodeInvalid, "resume with after needs a run_id")
	}
	back := e.After > 0
	if e.RunID != "" {
		run, err := k.server.Runs.Run(ctx, k.user, e.RunID)
		if err != nil {
			return err
		}
		if e.ChatID != "" && run.ChatID != e.ChatID {
			return schemas.ErrNotFound
		}
		chat = run.ChatID
		if k.ahead(ctx, run, e.After) {
			e.After = 0
		}
	} else if chat == "" {
		return schemas.NewError(schemas.CodeInvalid, "resume needs a chat_id or a run_id")
	}
	back = back && !k.listens(chat)
	if err := k.listen(ctx, chat); err != nil {
		return err
	}
	switch {
	case back:
		return k.watchFrom(chat, e.RunID, e.After)
	case e.RunID == "":
		return k.watchLive(ctx, e, chat)
	}
	live, err := k.server.Streams.Live(ctx, k.user, chat)
	if err != nil {
		return err
	}
	if err := k.watch(chat, e.RunID, e.After); err != nil {
		return err
	}
	for _, id := range live[slices.Index(live, e.RunID)+1:] {
		if err := k.watch(chat, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// watchLive shows the runs in progress of a chat or a document, each with its chat.
func (k *socket) watchLive(ctx context.Context, e *schemas.SocketEvent, chat string) error {
	live, err := k.named(ctx, e, chat)
	if err != nil {
		return err
	}
	if len(live) == 0 {
		text := "Nothing is under way."
		k.send(ctx, &schemas.Chunk{Type: schemas.ChunkStatus, Content: &text, ChatID: chat})
	}
	for _, id := range live {
		in := chat
		if e.DocumentID != "" {
			run, err := k.server.Runs.Run(ctx, k.user, id)
			if err == nil {
				in, err = run.ChatID, k.listen(ctx, run.ChatID)
			}
			if err != nil {
				return err
			}
		}
		if err := k.watch(in, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// ahead reports whether a number lies past the end of a run that is running
// here (runlog.Future); such a cursor reads from the start, as on a stream. It
// is false for a run that waits for recovery: its client may have seen more
// than is stored.
func (k *socket) ahead(ctx context.Context, run schemas.Run, after int64) bool {
	if !runlog.Future(after, run.LastSequence) || run.State.Terminal() {
		return false
	}
	if live, err := k.server.Streams.Live(ctx, k.user, run.ChatID); err != nil || !slices.Contains(live, run.RunID) {
		return false
	}
	future, err := k.server.Streams.Future(ctx, k.user, run.RunID, after)
	return err == nil && future
}
