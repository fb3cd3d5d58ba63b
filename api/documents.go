package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// documents is a user's documents and their blocks. Each call
// checks the owner: anything unknown or owned by another user is
// schemas.ErrNotFound. A match without the current revision is
// schemas.ErrStale, an id in use schemas.ErrTaken.
type documents interface {
	documentIndex
	documentBlocks
}

type documentIndex interface {
	List(ctx context.Context, user schemas.User, q record.DocumentQuery) (schemas.DocumentList, error)
	Get(ctx context.Context, user schemas.User, id string) (schemas.Document, error)
	Create(ctx context.Context, user schemas.User, c schemas.DocumentCreate) (schemas.Document, error)
	Rename(ctx context.Context, user schemas.User, id, title string, match record.Match) (schemas.Document, error)
	Delete(ctx context.Context, user schemas.User, id string, match record.Match) error
	SettleAll(ctx context.Context, user schemas.User, id string, decision record.Settle, match record.Match) (schemas.Document, error)
	Export(ctx context.Context, user schemas.User, id string) (title, markdown string, err error)
	Versions(ctx context.Context, user schemas.User, id string) (schemas.DocumentVersionList, error)
	Version(ctx context.Context, user schemas.User, id string, revision int64) (schemas.Document, error)
	// Restore refuses while something waits for the user.
	Restore(ctx context.Context, user schemas.User, id string, revision int64, match record.Match) (schemas.Document, error)
}

type documentBlocks interface {
	// AnyBlock also knows the messages of chats, superseded ones too.
	AnyBlock(ctx context.Context, user schemas.User, id string) (schemas.Block, error)
	// Place returns the document or the chat of a block, also of one that a run has
	// only begun to write; both are empty for an unknown block.
	Place(ctx context.Context, user schemas.User, id string) (document, chat string, err error)
	Add(ctx context.Context, user schemas.User, document string, b schemas.BlockCreate, match record.Match) (schemas.Block, error)
	Patch(ctx context.Context, user schemas.User, id string, p schemas.BlockPatch, match record.Match) (schemas.Block, error)
	DeleteBlock(ctx context.Context, user schemas.User, id string, match record.Match) error
	// Settle reports whether the block no longer exists.
	Settle(ctx context.Context, user schemas.User, id string, decision record.Settle, match record.Match) (record.Settled, error)
	Apply(ctx context.Context, user schemas.User, id string, a schemas.BlockApply, match record.Match) (schemas.Block, error)
}

const (
	ifMatch = "If-Match"
	etag    = "ETag"
	// maxMatches bounds the tags of an If-Match.
	maxMatches = 100
)

// matching returns the revisions that the request's If-Match names: nil for none
// or "*". A foreign tag names no revision, so nothing matches it.
func matching(c echo.Context) (record.Match, error) {
	tags := strings.Join(c.Request().Header.Values(ifMatch), ",")
	if strings.TrimSpace(tags) == "" || strings.TrimSpace(tags) == "*" {
		return nil, nil
	}
	match := record.Match{}
	for tag := range strings.SplitSeq(tags, ",") {
		tag = strings.TrimSpace(tag)
		if len(match) == maxMatches {
			return nil, schemas.NewError(schemas.CodeBadRequest, "the header If-Match has more than 100 tags")
		}
		if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
			continue // a weak tag never matches
		}
		// Another spelling of the number is another tag.
		if n, err := strconv.ParseInt(tag[1:len(tag)-1], 10, 64); err == nil && tag == `"`+strconv.FormatInt(n, 10)+`"` {
			match = append(match, n)
		}
	}
	return match, nil
}

func (s *server) listDocuments(ctx context.Context, user schemas.User, in listPage) (schemas.DocumentList, error) {
	found, err := s.Documents.List(ctx, user, record.DocumentQuery{Limit: in.Limit, Cursor: in.Cursor})
	found.Items = array(found.Items)
	return found, err
}

func (s *server) postDocument(ctx context.Context, user schemas.User, in struct{ Body schemas.DocumentCreate }) (schemas.Document, error) {
	made, err := s.Documents.Create(ctx, user, in.Body)
	made.Blocks = array(made.Blocks)
	return made, err
}

func (s *server) getDocument(ctx context.Context, user schemas.User, in documentPath) (schemas.Document, error) {
	found, err := s.Documents.Get(ctx, user, in.Document)
	found.Blocks = array(found.Blocks)
	return found, err
}

func (s *server) patchDocument(ctx context.Context, user schemas.User, in struct {
	documentMatch

	Body schemas.DocumentPatch
},
) (schemas.Document, error) {
	return s.Documents.Rename(ctx, user, in.Document, in.Body.Title, in.Match)
}

func (s *server) deleteDocument(ctx context.Context, user schemas.User, in documentMatch) (none, error) {
	return none{}, s.Documents.Delete(ctx, user, in.Document, in.Match)
}

// settleDocument settles all changes of a document.
func (s *server) settleDocument(decision record.Settle) echo.HandlerFunc {
	return handle(s, func(ctx context.Context, user schemas.User, in documentMatch) (schemas.Document, error) {
		settled, err := s.Documents.SettleAll(ctx, user, in.Document, decision, in.Match)
		settled.Blocks = array(settled.Blocks)
		return settled, err
	})
}

func (s *server) listDocumentVersions(ctx context.Context, user schemas.User, in documentPath) (schemas.DocumentVersionList, error) {
	list, err := s.Documents.Versions(ctx, user, in.Document)
	list.Items = array(list.Items)
	return list, err
}

func (s *server) getDocumentVersion(ctx context.Context, user schemas.User, in versionPath) (schemas.Document, error) {
	found, err := s.Documents.Version(ctx, user, in.Document, in.Revision)
	found.Blocks = array(found.Blocks)
	return found, err
}

func (s *server) restoreDocument(ctx context.Context, user schemas.User, in struct {
	versionPath

	Match record.Match
},
) (schemas.Document, error) {
	restored, err := s.Documents.Restore(ctx, user, in.Document, in.Revision, in.Match)
	restored.Blocks = array(restored.Blocks)
	return restored, err
}

func (s *server) exportDocument(c echo.Context) error {
	document, err := id(c, "document_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	title, markdown, err := s.Documents.Export(ctx, user, document)
	if err != nil {
		return err
	}
	asFile(c, title, "document", ".md")
	return send(c, "text/markdown; charset=utf-8", []byte(markdown))
}

func (s *server) postBlock(ctx context.Context, user schemas.User, in struct {
	documentMatch

	Body schemas.BlockCreate
},
) (schemas.Block, error) {
	return s.Documents.Add(ctx, user, in.Document, in.Body, in.Match)
}

func (s *server) getBlock(ctx context.Context, user schemas.User, in struct {
	Block string `path:"block_id"`
},
) (schemas.Block, error) {
	return s.Documents.AnyBlock(ctx, user, in.Block)
}

func (s *server) patchBlock(ctx context.Context, user schemas.User, in struct {
	blockMatch

	Body schemas.BlockPatch
},
) (schemas.Block, error) {
	return s.Documents.Patch(ctx, user, in.Block, in.Body, in.Match)
}

func (s *server) deleteBlock(ctx context.Context, user schemas.User, in blockMatch) (none, error) {
	return none{}, s.Documents.DeleteBlock(ctx, user, in.Block, in.Match)
}

// settleBlock settles the change of a block and answers with the block; without
// content when it no longer exists.
func (s *server) settleBlock(decision record.Settle) echo.HandlerFunc {
	return handle(s, func(ctx context.Context, user schemas.User, in blockMatch) (any, error) {
		settled, err := s.Documents.Settle(ctx, user, in.Block, decision, in.Match)
		if settled.Gone {
			return none{}, err
		}
		return settled.Block, err
	})
}

func (s *server) applyBlock(ctx context.Context, user schemas.User, in struct {
	blockMatch

	Body schemas.BlockApply
},
) (schemas.Block, error) {
	return s.Documents.Apply(ctx, user, in.Block, in.Body, in.Match)
}
