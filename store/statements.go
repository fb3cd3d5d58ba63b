package store

import "github.com/chattray/chattray/store/tables"

// The statements of Commit, in the order in which they run: referenced rows
// come first, and a finished log replaces its segments. TouchChat locks the chat, as a
// request does that replaces its messages: the answer is seen by one that comes later, and
// sees one that came earlier. Chats are locked in the order of their ids, so that two
// processes do not wait for each other.
const (
	touchChat = iota
	insertRun
	noteReplaced
	releaseBlock
	releaseBlocks
	returnName
	returnPayloads
	returnOfRun
	returnTail
	insertBlock
	restoreSummary
	restoreAnswer
	supersedeAsked
	returnAlias
	insertAttachment
	insertJournal
	upsertToolCall
	insertWait
	markWaiting
	upsertPayload
	deleteSegments
	insertLog
	upsertTrace
	deleteCheckpoints
	finishRun
	addUsage
	addDaily
	dropClaims
	dropChat
	statementCount
)

const upsertSegment = `INSERT INTO segments (run_id, first_seq, last_seq, attempt, data) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (run_id, first_seq) DO UPDATE SET last_seq = excluded.last_seq, attempt = excluded.attempt, data = excluded.data`

const upsertCheckpoint = `INSERT INTO checkpoints (run_id, n, data) VALUES (?, ?, ?)
	ON CONFLICT (run_id, n) DO UPDATE SET data = excluded.data`

// The statements that empty the journal: rows of some replicas, or all.
const (
	takeJournal    = `DELETE FROM journal WHERE replica {among} RETURNING n, data`
	takeAllJournal = `DELETE FROM journal RETURNING n, data`
)

// stateUnderWay is the state of a run that is neither queued nor ended.
const stateUnderWay = `CASE WHEN EXISTS (SELECT 1 FROM waits WHERE run_id = runs.id AND answer = '') THEN 'waiting' ELSE 'running' END`

const waitState = `UPDATE runs SET state = ` + stateUnderWay + ` WHERE id = ? AND state IN ('running', 'waiting')`

var statements = [statementCount]string{
	touchChat: `UPDATE chats SET updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END WHERE id = ?`,
	insertRun: `INSERT INTO runs (id, chat_id, owner, owner_name, owner_roles, state, attempt, request, user_message_id, message_id,
		created_at, idempotency_key, body_hash, cancel_requested, replica, page, place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {next_place})`,
	noteReplaced:   setReplaced,
	releaseBlock:   `DELETE FROM blocks WHERE owner = ? AND id = (SELECT message_id FROM runs WHERE runs.id = ?) AND ` + tables.Reserved,
	releaseBlocks:  `DELETE FROM blocks WHERE owner = ? AND run_id = ? AND ` + tables.Reserved,
	returnName:     renameMessage,
	returnPayloads: renamePayloads,
	returnOfRun:    renameOfRun,
	returnTail:     renameTail,
	// For the plus see selectVersion.
	restoreSummary: `UPDATE chats SET summary = '', summary_through = '', summary_at = 0 WHERE id = ? AND summary_through IN
		(SELECT id FROM blocks WHERE chat_id = ? AND ` + tables.MessagePlace + ` >= (SELECT MIN(+` + tables.MessagePlace + `) FROM blocks WHERE chat_id = ? AND tail = ?))`,
	// An answer shares the state of its question. It stays a version if the question has another
	// answer, or gets one: from a run under way, or, for a run that has not begun, from one that
	// was to replace a later answer.
	restoreAnswer: `UPDATE blocks SET status = CASE WHEN asked.status = 'superseded' THEN asked.status ELSE blocks.kept END,
		kept = CASE WHEN asked.status = 'superseded' THEN blocks.kept END, tail = asked.tail
		FROM runs JOIN blocks asked ON asked.owner = runs.owner AND asked.id = runs.user_message_id
		WHERE blocks.chat_id = ? AND blocks.tail = ? AND runs.id = ? AND (asked.status <> 'superseded' OR asked.run_id <> runs.id)
		AND NOT EXISTS (SELECT 1 FROM blocks b WHERE b.chat_id = runs.chat_id AND b.branch = asked.id AND b.role = 'assistant'
			AND (b.status <> 'superseded' AND b.run_id <> runs.id OR b.tail = asked.tail))
		AND NOT EXISTS (SELECT 1 FROM runs other WHERE other.chat_id = runs.chat_id AND other.` + tables.OpenStates + ` AND other.user_message_id = asked.id
			AND other.id <> runs.id AND (other.state <> 'queued' OR runs.state = 'queued' AND other.replaced <> '' AND other.place > runs.place))`,
	// An answer without a question of its own is a version by itself.
	supersedeAsked: `UPDATE blocks SET status = 'superseded', kept = status, tail = COALESCE((SELECT asked.id FROM runs JOIN blocks asked
		ON asked.owner = runs.owner AND asked.id = runs.user_message_id AND asked.run_id = runs.id WHERE runs.id = ?), blocks.id)
		WHERE chat_id = ? AND run_id = ? AND status <> 'superseded'`,
	returnAlias: reserveName,
	// An answer has its place after its question, see tables.MessagePlace. If a question was
	// replaced during its run, its answer is replaced too.
	insertBlock: `INSERT INTO blocks (owner, id, chat_id, role, type, current, run_id, data, created_at, status, kept, tail, turn, branch)
		SELECT ?, ?, CAST(? AS BIGINT), ?, ?, ?, ?, ?, CAST(? AS BIGINT), CASE WHEN asked.status = 'superseded' THEN 'superseded' ELSE this.status END,
		CASE WHEN asked.status = 'superseded' THEN this.status END, asked.tail, asked.seq * 2 + 1, COALESCE(this.branch,
		(SELECT b.branch FROM blocks b WHERE b.chat_id = runs.chat_id AND b.branch = runs.user_message_id AND b.role = 'assistant' LIMIT 1))
		FROM (SELECT CAST(? AS TEXT) AS status, CAST(? AS TEXT) AS run, CAST(? AS TEXT) AS branch) this LEFT JOIN runs ON runs.id = this.run
		LEFT JOIN blocks asked ON asked.owner = runs.owner AND asked.id = runs.user_message_id`,
	insertAttachment: `INSERT INTO attachments (owner, block_id, n, name, mime, content) VALUES (?, ?, ?, ?, ?, ?)`,
	insertJournal:    `INSERT INTO journal (replica, data) VALUES (?, ?)`,
	upsertToolCall: `INSERT INTO tool_calls (run_id, idx, tool_use_id, name, state, attempt, input, output, model_output, is_error, payload,
		started_at, duration_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run_id, idx) DO UPDATE SET tool_use_id = excluded.tool_use_id, name = excluded.name, state = excluded.state,
		attempt = excluded.attempt, input = excluded.input, output = excluded.output, model_output = excluded.model_output,
		is_error = excluded.is_error, payload = excluded.payload, started_at = excluded.started_at, duration_us = excluded.duration_us`,
	insertWait: `INSERT INTO waits (run_id, idx, kind, id, tool_use_id, tool, input, reason, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, idx) DO NOTHING`,
	markWaiting: waitState,
	// A payload may be written again by its run. An id that another run of the
	// chat has used is refused: run_id cannot be NULL.
	upsertPayload: `INSERT INTO payloads (chat_id, payload_id, run_id, message_id, type, source, summary, data, outcome, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (chat_id, payload_id) DO UPDATE SET run_id = CASE WHEN payloads.run_id = excluded.run_id THEN excluded.run_id END,
		message_id = excluded.message_id, type = excluded.type, source = excluded.source, summary = excluded.summary, data = excluded.data`,
	deleteSegments:    `DELETE FROM segments WHERE run_id = ? AND attempt = ?`,
	insertLog:         upsertSegment,
	upsertTrace:       `INSERT INTO traces (run_id, data) VALUES (?, ?) ON CONFLICT (run_id) DO UPDATE SET data = excluded.data`,
	deleteCheckpoints: `DELETE FROM checkpoints WHERE run_id = ?`,
	finishRun: `UPDATE runs SET state = ?, stop_reason = ?, input_tokens = ?, output_tokens = ?, total_tokens = ?, cost_nano = ?, error_code = ?,
		error_message = ?, message_id = ?, last_seq = ?, ended_at = ?, model = ? WHERE id = ?`,
	addUsage: `INSERT INTO model_usage (owner, day, model, runs, input_tokens, output_tokens, cost_nano) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, day, model) DO UPDATE SET runs = model_usage.runs + excluded.runs,
		input_tokens = model_usage.input_tokens + excluded.input_tokens, output_tokens = model_usage.output_tokens + excluded.output_tokens,
		cost_nano = model_usage.cost_nano + excluded.cost_nano`,
	addDaily: `INSERT INTO daily_runs (day, replica, page, model, code, runs, cancelled, fallbacks, input_tokens, output_tokens, cost_nano)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, replica, page, model, code) DO UPDATE SET runs = daily_runs.runs + excluded.runs,
		cancelled = daily_runs.cancelled + excluded.cancelled, fallbacks = daily_runs.fallbacks + excluded.fallbacks,
		input_tokens = daily_runs.input_tokens + excluded.input_tokens, output_tokens = daily_runs.output_tokens + excluded.output_tokens,
		cost_nano = daily_runs.cost_nano + excluded.cost_nano`,
	dropClaims: `DELETE FROM claims WHERE run = ?`,
	dropChat:   `DELETE FROM chats WHERE id = ?`,
}

// The queries of Commit.
const (
	runStates       = `SELECT id, owner, chat_id, state, attempt, ended_at, replica, page FROM runs WHERE id `
	selectRuns      = runStates + `{among} ORDER BY id {lock}`
	selectRun       = runStates + `= ? {lock}`
	selectRunByKey  = `SELECT owner, idempotency_key FROM runs WHERE owner = ? AND idempotency_key = ?`
	selectChat      = `SELECT id, owner, key FROM chats WHERE id = ? AND updated_at >= 0 {lock}`
	selectChatByKey = `SELECT id, owner, key FROM chats WHERE owner = ? AND key = ? {lock}`
	selectChatID    = `SELECT id FROM chats WHERE owner = ? AND key = ?`
	insertChat      = `INSERT INTO chats (owner, key, title, created_at, updated_at, unlisted) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, key) DO NOTHING`
	// The chat is 0 unless the id belongs to a finished answer, as its own id
	// or as an alias. The last column is the chat whose unfinished run reserves
	// the id, 0 for none.
	selectTaken = `SELECT b.owner, b.id, COALESCE(m.chat_id, 0), COALESCE(m.id, ''), COALESCE(r.user_message_id, ''), COALESCE(r.id, ''),
		CASE WHEN b.chat_id IS NULL AND b.document_id IS NULL AND r.` + tables.OpenStates + ` THEN r.chat_id ELSE 0 END FROM blocks b
		LEFT JOIN runs r ON r.id = b.run_id LEFT JOIN blocks m ON m.owner = b.owner AND m.role = 'assistant' AND m.chat_id IS NOT NULL
		AND m.id = CASE WHEN b.chat_id IS NULL AND b.document_id IS NULL THEN r.message_id ELSE b.id END WHERE b.owner = ? AND b.id = ?`
	reserveName = `INSERT INTO blocks (owner, id, role, type, status, run_id, created_at) VALUES (?, ?, 'assistant', 'md', 'reserved', ?, ?)
		ON CONFLICT (owner, id) DO NOTHING`
	selectSame     = `SELECT id, request FROM runs WHERE owner = ? AND message_id = ? AND id <> ? AND state IN ('queued', 'running', 'waiting')`
	selectOpenRuns = `SELECT chat_id, id, state FROM runs WHERE chat_id = ? AND state IN ('queued', 'running', 'waiting') ORDER BY place`
	selectMessage  = `SELECT ` + tables.MessagePlace + `, role, COALESCE(branch, ''), status <> 'superseded' FROM blocks WHERE chat_id = ? AND owner = ? AND id = ?`
)

// The statements that replace a message and all later ones.
const (
	supersedeMessages = `UPDATE blocks SET status = 'superseded', kept = status, tail = ? WHERE chat_id = ? AND ` + tables.MessagePlace + ` >= ? AND status <> 'superseded'`
	nameBranch        = `UPDATE blocks SET branch = ? WHERE owner = ? AND id = ? AND branch IS NULL`
	// A summary of a replaced message is no longer valid.
	dropSummary = `UPDATE chats SET summary = '', summary_through = '', summary_at = 0 WHERE id = ?
		AND summary_through IN (SELECT id FROM blocks WHERE chat_id = ? AND ` + tables.MessagePlace + ` >= ?)`
)

// The statements that free the ids of an answer for the next version of it.
const (
	selectAliases  = `SELECT id FROM blocks WHERE owner = ? AND run_id = ? AND ` + tables.Reserved + ` ORDER BY created_at, id`
	dropName       = `DELETE FROM blocks WHERE owner = ? AND id = ? AND ` + tables.Reserved
	renameMessage  = `UPDATE blocks SET id = ? WHERE owner = ? AND id = ?`
	renamePayloads = `UPDATE payloads SET message_id = ? WHERE chat_id = ? AND message_id = ?`
	renameOfRun    = `UPDATE runs SET message_id = ? WHERE chat_id = ? AND message_id = ? AND NOT (` + tables.OpenStates + `)`
	renameTail     = `UPDATE blocks SET tail = ? WHERE chat_id = ? AND tail = ?`
	selectCurrent  = `SELECT ` + tables.MessagePlace + `, role, COALESCE(branch, '') FROM blocks WHERE chat_id = ? AND owner = ? AND id = ? AND status <> 'superseded'`
	supersedeOne   = `UPDATE blocks SET status = 'superseded', kept = status, tail = ? WHERE chat_id = ? AND id = ? AND status <> 'superseded'`
)

// The statements that give earlier answers their ids back.
const (
	setReplaced    = `UPDATE runs SET replaced = ? WHERE id = ?`
	selectReplaced = `SELECT replaced FROM runs WHERE id = ?`
	replacedText   = `SELECT b.current FROM blocks b JOIN runs r ON r.owner = b.owner AND r.chat_id = b.chat_id WHERE r.id = ?
		AND b.role = 'assistant' AND (b.id = ? OR ? = '' AND b.run_id = ?)`
)

// The statements of Take. They name the replicas that the runs are taken from: with a
// join, a run that another replica has just taken would be taken again, because the
// joined rows are not read again when the run's row is. The plus keeps SQLite from going
// along the places of all runs, of which nearly all have ended.
const (
	takeRuns = `WITH open AS (SELECT id FROM runs WHERE replica {among}` + takeOpen
	// takeAllRuns takes them from everybody else.
	takeAllRuns = `WITH open AS (SELECT id FROM runs WHERE replica <> ?` + takeOpen
	takeOpen    = ` AND format <= ? AND ` + tables.OpenStates + ` AND {not_gone} ORDER BY +place LIMIT ? {skip})
		UPDATE runs SET spared = spared + CASE WHEN state = 'waiting' OR state = 'running' AND (replica = '' OR {left}) THEN 1 ELSE 0 END, ` + tables.RememberOwner + `, replica = ?,
		attempt = attempt + CASE WHEN state = 'queued' THEN 0 ELSE 1 END FROM open WHERE runs.id = open.id
		RETURNING runs.id, runs.state, runs.attempt, runs.place`
)

// The statements of BeginAttempt. Those for a queued run find the current answer to its
// question, which comes after it, and replace it and what follows, without the questions
// that still wait for their first answer.
const (
	selectQueued  = `SELECT message_id, user_message_id, created_at FROM runs WHERE id = ?`
	lastNoted     = `SELECT replaced FROM runs WHERE chat_id = ? AND state = 'queued' AND ` + tables.OpenStates + ` AND user_message_id = ? AND replaced <> '' ORDER BY place`
	currentAnswer = `SELECT b.id FROM blocks b JOIN runs r ON r.id = b.run_id WHERE b.chat_id = ? AND b.role = 'assistant' AND b.status <> 'superseded'
		AND ` + tables.MessagePlace + ` > COALESCE((SELECT ` + tables.MessagePlace + ` FROM blocks WHERE owner = ? AND id = ?), 0) AND r.user_message_id = ? AND r.id <> ? ORDER BY ` + tables.MessagePlace + ` LIMIT 1`
	supersedeAnswered = supersedeMessages + ` AND id NOT IN (SELECT asked.id FROM runs waits JOIN blocks asked ON asked.owner = waits.owner AND asked.id = waits.user_message_id
		WHERE waits.chat_id = ? AND waits.state = 'queued' AND waits.` + tables.OpenStates + ` AND NOT EXISTS (SELECT 1 FROM blocks b JOIN runs r ON r.id = b.run_id
			WHERE b.chat_id = waits.chat_id AND ` + tables.MessagePlace + ` > asked.seq * 2 AND b.role = 'assistant' AND b.status <> 'superseded' AND r.user_message_id = asked.id))`
	selectReplacedQuestion = `SELECT 1 FROM runs JOIN blocks asked ON asked.owner = runs.owner AND asked.id = runs.user_message_id
		WHERE runs.id = ? AND asked.status = 'superseded'`
	renameAnswer = `UPDATE runs SET message_id = ? WHERE id = ?`
	// moveUserMessage puts the question of a queued run after messages of runs before it, which
	// an older release has stored or moved after it.
	moveUserMessage = `UPDATE blocks SET seq = {next_seq} WHERE id = (SELECT user_message_id FROM runs WHERE runs.id = ?) AND owner = ?
		AND run_id = ? AND status <> 'superseded' AND EXISTS (SELECT 1 FROM blocks b JOIN runs r ON r.id = b.run_id WHERE b.chat_id = blocks.chat_id
		AND b.status <> 'superseded' AND COALESCE(b.turn, b.seq * 2) > blocks.seq * 2 AND r.place < (SELECT place FROM runs WHERE runs.id = ?))`
	beginAttemptOfRun = `UPDATE runs SET attempt = ?, spared = spared + CASE WHEN state = 'waiting' THEN 1 ELSE 0 END, state = ` + stateUnderWay + ` WHERE id = ?`
)

// The statements for the answers to waiting calls. The first answer counts.
const (
	selectWait = `SELECT idx FROM waits WHERE run_id = ? AND idx = ?`
	answerWait = `UPDATE waits SET answer = ?, answered_at = ?, edited = ?, output = ?, is_error = ? WHERE run_id = ? AND idx = ? AND answer = ''
		AND (? = 'expired' AND expires_at <= {now} OR ? <> 'expired')`
)
