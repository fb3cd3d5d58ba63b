package concurrent

import "sync"

// Each calls do for the numbers below n, at most parallel calls at a time, and
// returns when all have returned.
func Each(n, parallel int, do func(i int)) {
	var group sync.WaitGroup
	places := make(chan struct{}, parallel)
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	group.Wait()
}
