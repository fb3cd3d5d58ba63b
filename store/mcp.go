package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/values"
)

// MaxMCPTools is how many tools of one MCP server are stored; further ones are never trusted.
const MaxMCPTools = 1000

type mcpToolRow struct {
	Server            string `gorm:"primaryKey"`
	Tool              string `gorm:"primaryKey"`
	Hash              string
	Definition        string
	Changed           string
	ChangedDefinition string
	SeenAt            int64
}

// TableName names the table.
func (mcpToolRow) TableName() string { return "mcp_tools" }

func (r *mcpToolRow) tool() record.MCPTool {
	t := record.MCPTool{
		Server: r.Server, Tool: r.Tool, Hash: r.Hash, Definition: json.RawMessage(r.Definition), Changed: r.Changed, SeenAt: values.Moment(r.SeenAt),
	}
	if r.ChangedDefinition != "" {
		t.ChangedDefinition = json.RawMessage(r.ChangedDefinition)
	}
	return t
}

// MCPTools returns the stored tools of all MCP servers, by server and tool.
func (s *Store) MCPTools(ctx context.Context) ([]record.MCPTool, error) {
	var rows []mcpToolRow
	if err := s.db.Read(ctx).Order("server, tool").Find(&rows).Error; err != nil {
		return nil, s.db.Fault("mcp tools", err)
	}
	found := make([]record.MCPTool, len(rows))
	for i := range rows {
		found[i] = rows[i].tool()
	}
	return found, nil
}

// SeeMCPTools stores the definitions of the tools that a server offers now
// (Tool, Hash and Definition of each), and returns all stored tools of the
// server. A new tool is trusted. If a known tool has another hash, its new
// definition is stored as Changed until it is accepted. If several processes see a new tool
// at once, the first one counts.
func (s *Store) SeeMCPTools(ctx context.Context, server string, seen []record.MCPTool) ([]record.MCPTool, error) {
	known, err := mcpTools(s.db.Read(ctx), server)
	if err == nil && len(mcpNews(server, known, seen)) > 0 {
		err = s.db.Write(ctx, func(tx *gorm.DB) (err error) {
			for range 2 { // the second time for tools that another process has stored meanwhile
				if known, err = mcpTools(tx.Clauses(s.db.RowLock()...), server); err != nil {
					return err
				}
				for _, row := range mcpNews(server, known, seen) {
					if err := tx.Clauses(updateSeen).Create(&row).Error; err != nil {
						return err
					}
				}
			}
			known, err = mcpTools(tx, server)
			return err
		})
	}
	if err != nil {
		return nil, s.db.Fault("see mcp tools", err)
	}
	found := make([]record.MCPTool, 0, len(known))
	for _, row := range known {
		found = append(found, row.tool())
	}
	return found, nil
}

// updateSeen leaves the accepted definition of a tool as it is stored.
var updateSeen = clause.OnConflict{
	Columns:   []clause.Column{{Name: "server"}, {Name: "tool"}},
	DoUpdates: clause.AssignmentColumns([]string{"changed", "changed_definition", "seen_at"}),
}

// AcceptMCPTools accepts the changed definition of a server's tool, or of all
// its tools if tool is empty, and returns the accepted ones. If hash is not empty, only
// the definition with that hash is accepted. A tool that is unknown, or has no such change,
// is schemas.ErrNotFound.
func (s *Store) AcceptMCPTools(ctx context.Context, server, tool, hash string) ([]record.MCPTool, error) {
	var accepted []record.MCPTool
	err := s.db.Write(ctx, func(tx *gorm.DB) error {
		accepted = nil
		rows, err := mcpTools(tx.Clauses(s.db.RowLock()...), server)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Changed == "" || tool != "" && row.Tool != tool || hash != "" && row.Changed != hash {
				continue
			}
			row.Hash, row.Definition, row.Changed, row.ChangedDefinition = row.Changed, row.ChangedDefinition, "", ""
			if err := tx.Save(&row).Error; err != nil {
				return err
			}
			accepted = append(accepted, row.tool())
		}
		if len(accepted) == 0 {
			return schemas.ErrNotFound
		}
		return nil
	})
	if errors.Is(err, schemas.ErrNotFound) {
		return nil, schemas.ErrNotFound
	}
	return accepted, s.db.Fault("accept mcp tools", err)
}

// mcpTools returns a server's rows by tool.
func mcpTools(tx *gorm.DB, server string) ([]mcpToolRow, error) {
	var rows []mcpToolRow
	err := tx.Where("server = ?", server).Order("tool").Find(&rows).Error
	return rows, err
}

// mcpNews returns the rows to write for the definitions that were seen.
func mcpNews(server string, known []mcpToolRow, seen []record.MCPTool) []mcpToolRow {
	rows := make(map[string]mcpToolRow, len(known))
	for _, row := range known {
		rows[row.Tool] = row
	}
	var news []mcpToolRow
	for _, t := range seen {
		row, ok := rows[t.Tool]
		switch {
		case !ok && len(rows) >= MaxMCPTools:
			continue
		case !ok:
			row = mcpToolRow{Server: server, Tool: t.Tool, Hash: t.Hash, Definition: string(t.Definition)}
		case t.Hash == row.Hash && row.Changed != "":
			row.Changed, row.ChangedDefinition = "", ""
		case t.Hash != row.Hash && t.Hash != row.Changed:
			row.Changed, row.ChangedDefinition = t.Hash, string(t.Definition)
		default:
			continue
		}
		row.SeenAt = values.Micros(time.Now())
		rows[t.Tool] = row
		news = append(news, row)
	}
	return news
}
