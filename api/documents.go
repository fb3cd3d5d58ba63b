package api

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// documents is a user's documents and their blocks. Each call
// checks the owner: what is unknown or somebody else's is schemas.ErrNotFound.
// A match that does not hold is schemas.ErrStale, an id in use
// schemas.ErrTaken.
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
}

type documentBlocks interface {
	Add(ctx context.Context, user schemas.User, document string, b schemas.BlockCreate, match record.Match) (schemas.Block, error)
	Patch(ctx context.Context, user schemas.User, id string, p schemas.BlockPatch, match record.Match) (schemas.Block, error)
	DeleteBlock(ctx context.Context, user schemas.User, id string, match record.Match) error
	// Settle says of a block that is no more that it is gone.
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
// or "*". Tags that are not ours name no revision, so nothing matches them.
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
			continue // weak ones never match a change
		}
		if n, err := strconv.ParseInt(tag[1:len(tag)-1], 10, 64); err == nil {
			match = append(match, n)
		}
	}
	return match, nil
}

// revised answers with v, whose entity tag is its revision.
func revised(c echo.Context, revision int64, v any) error {
	c.Response().Header().Set(etag, `"`+strconv.FormatInt(revision, 10)+`"`)
	return respond(c, v)
}

// subject is what a request about a thing with a revision asks for.
func subject(c echo.Context, name string) (thing string, match record.Match, err error) {
	if thing, err = id(c, name); err != nil {
		return "", nil, err
	}
	match, err = matching(c)
	return thing, match, err
}

func (s *server) listDocuments(c echo.Context) error {
	limit, err := queryLimit(c)
	if err != nil {
		return err
	}
	cursor, err := queryText(c, "cursor", maxCursor)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	found, err := s.Documents.List(ctx, user, record.DocumentQuery{Limit: limit, Cursor: cursor})
	if err != nil {
		return err
	}
	found.Items = array(found.Items)
	return respond(c, found)
}

func (s *server) postDocument(c echo.Context) error {
	create, _, err := decode[schemas.DocumentCreate](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	made, err := s.Documents.Create(ctx, user, create)
	if err != nil {
		return err
	}
	made.Blocks = array(made.Blocks)
	return revised(c, made.Revision, made)
}

func (s *server) getDocument(c echo.Context) error {
	document, err := id(c, "document_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	found, err := s.Documents.Get(ctx, user, document)
	if err != nil {
		return err
	}
	found.Blocks = array(found.Blocks)
	return revised(c, found.Revision, found)
}

func (s *server) patchDocument(c echo.Context) error {
	document, match, err := subject(c, "document_id")
	if err != nil {
		return err
	}
	patch, _, err := decode[schemas.DocumentPatch](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	renamed, err := s.Documents.Rename(ctx, user, document, patch.Title, match)
	if err != nil {
		return err
	}
	return revised(c, renamed.Revision, renamed)
}

func (s *server) deleteDocument(c echo.Context) error {
	return gone(c, "document_id", s.Documents.Delete)
}

// gone answers a request that deletes the thing of the path.
func gone(c echo.Context, name string, del func(context.Context, schemas.User, string, record.Match) error) error {
	thing, match, err := subject(c, name)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	if err := del(ctx, user, thing, match); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *server) acceptDocument(c echo.Context) error { return s.settleDocument(c, record.Accept) }
func (s *server) revertDocument(c echo.Context) error { return s.settleDocument(c, record.Revert) }

func (s *server) settleDocument(c echo.Context, decision record.Settle) error {
	document, match, err := subject(c, "document_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	settled, err := s.Documents.SettleAll(ctx, user, document, decision, match)
	if err != nil {
		return err
	}
	settled.Blocks = array(settled.Blocks)
	return revised(c, settled.Revision, settled)
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
	c.Response().Header().Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": baseName(title, "document") + ".md"}))
	return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(markdown))
}

// maxFileName is the length of an export's name in bytes, without its ending.
const maxFileName = 100

// baseName makes the name of a file, without its ending, of a title; other where that
// gives none.
func baseName(title, other string) string {
	name := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return ' '
		}
		return r
	}, title))
	for len(name) > maxFileName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name = strings.Trim(name, ". "); name == "" {
		name = other
	}
	return name
}

func (s *server) postBlock(c echo.Context) error {
	document, match, err := subject(c, "document_id")
	if err != nil {
		return err
	}
	create, _, err := decode[schemas.BlockCreate](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	added, err := s.Documents.Add(ctx, user, document, create, match)
	if err != nil {
		return err
	}
	return revised(c, added.Revision, added)
}

func (s *server) patchBlock(c echo.Context) error {
	block, match, err := subject(c, "block_id")
	if err != nil {
		return err
	}
	patch, _, err := decode[schemas.BlockPatch](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	patched, err := s.Documents.Patch(ctx, user, block, patch, match)
	if err != nil {
		return err
	}
	return revised(c, patched.Revision, patched)
}

func (s *server) deleteBlock(c echo.Context) error {
	return gone(c, "block_id", s.Documents.DeleteBlock)
}

func (s *server) acceptBlock(c echo.Context) error { return s.settleBlock(c, record.Accept) }
func (s *server) revertBlock(c echo.Context) error { return s.settleBlock(c, record.Revert) }

// settleBlock answers with the block as it is now; with 204 when it is no more.
func (s *server) settleBlock(c echo.Context, decision record.Settle) error {
	block, match, err := subject(c, "block_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	settled, err := s.Documents.Settle(ctx, user, block, decision, match)
	if err != nil {
		return err
	}
	if settled.Gone {
		return c.NoContent(http.StatusNoContent)
	}
	return revised(c, settled.Block.Revision, settled.Block)
}

func (s *server) applyBlock(c echo.Context) error {
	block, match, err := subject(c, "block_id")
	if err != nil {
		return err
	}
	apply, _, err := decode[schemas.BlockApply](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	applied, err := s.Documents.Apply(ctx, user, block, apply, match)
	if err != nil {
		return err
	}
	return revised(c, applied.Revision, applied)
}
