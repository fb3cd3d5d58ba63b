package jsonlimit

// The limits.
const (
	MaxChain      = maxChain
	MaxDepth      = maxDepth
	MaxPattern    = maxPattern
	MaxSubschemas = maxSubschemas
	MaxValues     = maxValues
)

// Shared reports whether the bound of Counts does not hold, because a part may check a value
// again.
func (b *Bounds) Shared() bool { return b.shared }

// Counts returns what Allow would count going through schema and value together,
// and the bound that it takes for enough; for a schema without shared parts.
func (b *Bounds) Counts(v any) (exact, bound int) {
	m := measure{}
	m.take(v, 0)
	const plenty = 1 << 60
	w := &walk{nodes: b.nodes, left: plenty}
	w.visit(b.root, weigh(v), false)
	return plenty - w.left, b.all.most(m)
}
