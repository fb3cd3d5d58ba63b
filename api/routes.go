package api

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas/record"
)

// body is what a route does with the request's body.
type body int

const (
	noBody    body = iota // read and discarded, unless the route is public
	jsonBody              // JSON up to Limits.Body
	filesBody             // JSON up to Limits.FilesBody when it sends attachments
	blockBody             // JSON up to Limits.FilesBody
	anyBody               // as jsonBody, or none
)

type route struct {
	method, path string
	handle       echo.HandlerFunc
	// public routes need no user and read no body.
	public bool
	// stream routes answer for as long as a run lasts.
	stream bool
	// ticket routes accept a ticket instead of a token.
	ticket bool
	// starts says that the request starts a run: it counts as one before its
	// body is read, even if no run starts.
	starts bool
	body   body
	// large routes answer with stored text of any length.
	large bool
}

// routes is the one table of routes. All but the files of the page are in
// openapi.yaml; a test compares the two.
func (s *server) routes() []route {
	return slices.Concat(s.ownRoutes(), s.adminRoutes(), s.wireRoutes())
}

// ownRoutes are the rows of all that is neither for admins nor of a wire.
func (s *server) ownRoutes() []route {
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	return []route{
		{method: post, path: "/api/chat/stream", handle: s.postStream, stream: true, starts: true, body: filesBody},
		{method: post, path: "/api/chat", handle: s.postChat, stream: true, starts: true, body: filesBody},
		{method: get, path: "/api/chat/runs", handle: handle(s, s.findRun)},
		{method: get, path: "/api/chat/runs/:run_id", handle: handle(s, s.getRun)},
		{method: get, path: "/api/chat/runs/:run_id/stream", handle: s.getStream, stream: true, ticket: true},
		{method: post, path: "/api/chat/runs/:run_id/cancel", handle: handle(s, s.cancelRun)},
		{method: post, path: "/api/chat/runs/:run_id/approvals/:approval_id", handle: handle(s, s.postApproval), body: jsonBody},
		{method: post, path: "/api/chat/runs/:run_id/tool_results", handle: handle(s, s.postToolResult), body: jsonBody},
		{method: get, path: "/api/chat/runs/:run_id/waits", handle: handle(s, s.getWaits), large: true},
		{method: get, path: "/api/chat/runs/:run_id/diagnostics", handle: handle(s, s.getDiagnostics), large: true},
		{method: get, path: "/api/chat/runs/:run_id/tools/:index", handle: handle(s, s.getToolCall), large: true},

		{method: get, path: "/api/chats", handle: handle(s, s.listChats)},
		{method: get, path: "/api/chats/:conversation_id", handle: handle(s, s.getChat), large: true},
		{method: patch, path: "/api/chats/:conversation_id", handle: handle(s, s.patchChat), body: jsonBody},
		{method: del, path: "/api/chats/:conversation_id", handle: handle(s, s.deleteChat)},
		{method: get, path: "/api/chats/:conversation_id/export", handle: s.exportChat},
		{method: get, path: "/api/chats/:conversation_id/payloads/:payload_id", handle: handle(s, s.getPayload), large: true},
		{method: post, path: "/api/chats/:conversation_id/payloads/:payload_id/resolve", handle: handle(s, s.resolvePayload), body: jsonBody, large: true},
		{method: post, path: "/api/chats/:conversation_id/messages/:message_id/feedback", handle: handle(s, s.postFeedback), body: jsonBody, large: true},
		{method: del, path: "/api/chats/:conversation_id/messages/:message_id/feedback", handle: handle(s, s.deleteFeedback)},
		{method: get, path: "/api/chats/:conversation_id/messages/:message_id/versions", handle: handle(s, s.getVersions), large: true},
		{method: post, path: "/api/chats/:conversation_id/messages/:message_id/select", handle: handle(s, s.selectVersion), large: true},

		{method: get, path: "/api/documents", handle: handle(s, s.listDocuments)},
		{method: post, path: "/api/documents", handle: handle(s, s.postDocument), body: jsonBody},
		{method: get, path: "/api/documents/:document_id", handle: handle(s, s.getDocument), large: true},
		{method: patch, path: "/api/documents/:document_id", handle: handle(s, s.patchDocument), body: jsonBody, large: true},
		{method: del, path: "/api/documents/:document_id", handle: handle(s, s.deleteDocument)},
		{method: post, path: "/api/documents/:document_id/blocks", handle: handle(s, s.postBlock), body: blockBody, large: true},
		{method: post, path: "/api/documents/:document_id/accept", handle: s.settleDocument(record.Accept), large: true},
		{method: post, path: "/api/documents/:document_id/revert", handle: s.settleDocument(record.Revert), large: true},
		{method: post, path: "/api/documents/:document_id/reject", handle: s.settleDocument(record.Revert), large: true},
		{method: get, path: "/api/documents/:document_id/versions", handle: handle(s, s.listDocumentVersions), large: true},
		{method: get, path: "/api/documents/:document_id/versions/:revision", handle: handle(s, s.getDocumentVersion), large: true},
		{method: post, path: "/api/documents/:document_id/versions/:revision/restore", handle: handle(s, s.restoreDocument), large: true},
		{method: get, path: "/api/documents/:document_id/export", handle: s.exportDocument, large: true},
		{method: get, path: "/api/blocks/:block_id", handle: handle(s, s.getBlock), large: true},
		{method: patch, path: "/api/blocks/:block_id", handle: handle(s, s.patchBlock), body: blockBody, large: true},
		{method: del, path: "/api/blocks/:block_id", handle: handle(s, s.deleteBlock)},
		{method: post, path: "/api/blocks/:block_id/accept", handle: s.settleBlock(record.Accept), large: true},
		{method: post, path: "/api/blocks/:block_id/revert", handle: s.settleBlock(record.Revert), large: true},
		{method: post, path: "/api/blocks/:block_id/reject", handle: s.settleBlock(record.Revert), large: true},
		{method: post, path: "/api/blocks/:block_id/apply", handle: handle(s, s.applyBlock), body: jsonBody, large: true},

		{method: get, path: socketPath, handle: s.getSocket, stream: true, ticket: true},
		{method: post, path: "/api/ws/ticket", handle: handle(s, s.postTicket)},

		{method: get, path: "/api/pages", handle: handle(s, s.listPages)},
		{method: get, path: "/api/pages/:page", handle: handle(s, s.getPage)},
		{method: get, path: "/api/tools", handle: handle(s, s.listTools)},
		{method: get, path: "/api/models", handle: handle(s, s.listModels)},
		{method: get, path: "/api/me", handle: handle(s, s.getMe)},
		{method: get, path: "/api/me/data", handle: handle(s, s.getMyData)},
		{method: del, path: "/api/me/data", handle: handle(s, s.deleteMyData)},
		{method: get, path: "/api/me/export", handle: s.exportMyData},
		{method: get, path: "/api/usage", handle: handle(s, s.getUsage)},

		{method: get, path: "/api/streams", handle: handle(s, s.listStreams)},
		{method: get, path: "/api/streams/:stream_id", handle: handle(s, s.getResearchStream)},
		{method: put, path: "/api/streams/:stream_id", handle: handle(s, s.putResearchStream), body: jsonBody},
		{method: get, path: "/api/reports", handle: handle(s, s.listReports)},
		{method: get, path: "/api/reports/:report_id", handle: handle(s, s.getReport)},

		{method: post, path: mcpPath, handle: s.postMCP, stream: true, starts: true, body: jsonBody},

		{method: get, path: resourceDocument, handle: s.getResource, public: true},
		{method: get, path: resourceDocument + mcpPath, handle: s.getResource, public: true},

		{method: get, path: "/healthz", handle: s.healthz, public: true},
		{method: get, path: "/readyz", handle: s.readyz, public: true},
		{method: get, path: "/metrics", handle: s.metrics, public: true},
		{method: get, path: "/openapi.yaml", handle: s.openapi, public: true},
		{method: get, path: "/", handle: s.webPage, public: true},
		{method: get, path: "/playground", handle: s.webPage, public: true},
		{method: get, path: "/admin", handle: s.webPage, public: true},
		{method: get, path: pageFiles, handle: s.webPage, public: true},
	}
}

// pageFiles are the files that the web page asks for.
const pageFiles = "/assets/*"

func (s *server) adminRoutes() []route {
	const get = http.MethodGet
	return []route{
		{method: get, path: "/api/admin/runs", handle: forAdmins(s, s.adminRuns)},
		{method: get, path: "/api/admin/runs/:run_id/timeline", handle: forAdmins(s, s.adminTimeline)},
		{method: get, path: "/api/admin/runs/:run_id/events", handle: forReaders(s, s.adminEvents)},
		{method: get, path: "/api/admin/runs/:run_id/diagnostics", handle: forReaders(s, s.adminDiagnostics)},
		{method: get, path: "/api/admin/stats", handle: forAdmins(s, s.adminStats)},
		{method: get, path: "/api/admin/replicas", handle: forAdmins(s, s.adminReplicas)},
		{method: get, path: "/api/admin/mcp_servers", handle: forAdmins(s, s.adminMCPServers)},
	}
}
