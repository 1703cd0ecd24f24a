package main

import "github.com/laneway-go/laneway/internal/lane"

// allWorlds lists the worlds. The small ones come first: what they leave of the budget is for the large ones.
func allWorlds() []world {
	var all []world
	for _, group := range [][]world{plainWorlds(), orderWorlds(), sameWorlds(), claimWorlds(), troubleWorlds(), deadWorlds(), sourceWorlds()} {
		all = append(all, group...)
	}
	return all
}

const everything = ok | fails | permanent | skips

// plainWorlds: one or two records, every outcome, a crash.
func plainWorlds() []world {
	return []world{
		{name: "one", keys: "a", crashes: 1, broken: 1, outcomes: everything},
		{name: "one-off", keys: "a", crashes: 1, broken: 1, mode: lane.Off, outcomes: everything},
		{name: "one-claims", keys: "a", crashes: 2, mode: lane.ClaimFirst, outcomes: everything | unsure},
		{name: "one-commits", keys: "a", crashes: 1, unheard: 2, commits: 3},
		{name: "pair", keys: "aa", crashes: 1},
		{name: "pair-off", keys: "aa", crashes: 1, mode: lane.Off},
		{name: "pair-crashes", keys: "aa", crashes: 2, attempts: 2, stages: 1},
		{name: "pair-off-crashes", keys: "aa", crashes: 2, stages: 1, mode: lane.Off},
		{name: "pair-dead", keys: "aa", crashes: 1, stages: 1, attempts: 1, outcomes: everything},
		{name: "pair-loose", keys: "--", crashes: 1, stages: 1, outcomes: ok | fails | permanent},
		{name: "pair-garbage", keys: "aa", garbage: "x-", crashes: 1, stages: 1},
		{name: "pair-fine", keys: "aa", crashes: 1, stages: 1, fine: true},
	}
}

// orderWorlds: records of one key in stages with small windows, orderings, three records.
func orderWorlds() []world {
	return []world{
		{name: "window-1", keys: "aa", window: 1, crashes: 1},
		{name: "window-1-off", keys: "aa", window: 1, crashes: 1, mode: lane.Off},
		{name: "window-1-three", keys: "aba", window: 1, stages: 1},
		{name: "window-2-three", keys: "aba", window: 2, stages: 1},
		{name: "three", keys: "aab", attempts: 2, stages: 1},
		{name: "three-crash", keys: "aaa", attempts: 2, stages: 1, crashes: 1},
		{name: "three-off-crash", keys: "aab", attempts: 2, stages: 1, crashes: 1, mode: lane.Off},
		{name: "three-tries", keys: "aa", attempts: 3, stages: 2},
		{name: "poison", keys: "aaa", poison: "x", attempts: 3, outcomes: ok | fails},
		{name: "poison-window-1", keys: "aaa", poison: "xx", attempts: 3, window: 1},
		{name: "partition", keys: "ab", ordering: lane.ByPartition, crashes: 1},
		{name: "unordered", keys: "ab", ordering: lane.Unordered, crashes: 1, stages: 1},
		{name: "snooze", keys: "aa", attempts: 2, snoozed: 2, snoozes: []int64{1, stageDelay, 3 * stageDelay}},
		{name: "snooze-crash", keys: "a", attempts: 3, snoozed: 2, crashes: 1, snoozes: []int64{1, 3 * stageDelay}},
		{name: "snooze-follow", keys: "aa", stages: 2, attempts: 3, snoozed: 1, snoozes: []int64{2 * stageDelay}},
	}
}

// sameWorlds: records that are the same work, replays.
func sameWorlds() []world {
	return []world{
		{name: "same", keys: "ab", same: "00", crashes: 1, stages: 1, outcomes: ok | fails | permanent},
		{name: "same-key", keys: "aa", same: "00", crashes: 1, stages: 1},
		{name: "same-three", keys: "aba", same: "011", stages: 1},
		{name: "same-off", keys: "ab", same: "00", crashes: 1, stages: 1, mode: lane.Off},
		{name: "replay", keys: "a", crashes: 1, attempts: 1, replays: 1, again: true, outcomes: ok | fails},
		{name: "replay-two", keys: "a", attempts: 1, replays: 2, outcomes: ok | fails, stages: 1},
		{name: "replay-pair", keys: "aa", attempts: 1, replays: 1, stages: 1, crashes: 1},
		{name: "replay-force", keys: "a", attempts: 1, replays: 1, stages: 1, crashes: 2, force: true, anytime: true},
		{name: "replay-force-same", keys: "ab", same: "00", attempts: 1, replays: 1, stages: 1, crashes: 1, force: true, anytime: true},
		{name: "replay-queued", keys: "aa", attempts: 1, replays: 2, stages: 1, queued: 1, commits: -1, outcomes: ok | permanent},
		{name: "replay-window-1", keys: "aa", attempts: 2, replays: 1, stages: 1, window: 1},
		{name: "replay-off", keys: "aa", attempts: 1, replays: 1, stages: 1, crashes: 1, mode: lane.Off},
		{name: "replay-same", keys: "ab", same: "00", attempts: 1, replays: 1, stages: 1, crashes: 1},
	}
}

// claimWorlds: a loss is better than a repeat.
func claimWorlds() []world {
	return []world{
		{name: "claims", keys: "aa", mode: lane.ClaimFirst, crashes: 2, stages: 1},
		{name: "claims-same", keys: "ab", same: "00", mode: lane.ClaimFirst, crashes: 1, stages: 1},
		{name: "claims-same-unsure", keys: "ab", same: "00", mode: lane.ClaimFirst, crashes: 1, stages: 1, outcomes: ok | fails | unsure},
		{name: "claims-snooze", keys: "aa", mode: lane.ClaimFirst, crashes: 1, stages: 2, snoozed: 1, snoozes: []int64{1, 2 * stageDelay}},
		{name: "claims-giveup", keys: "a", mode: lane.ClaimFirst, crashes: 1, giveUps: 2, stages: 1},
		{name: "claims-replay", keys: "a", mode: lane.ClaimFirst, crashes: 1, replays: 1, attempts: 1, stages: 1, outcomes: ok | fails | unsure},
		{name: "claims-zombie", keys: "a", mode: lane.ClaimFirst, losses: 1, zombie: 4, stages: 1},
		{name: "claims-zombie-same", keys: "ab", same: "00", mode: lane.ClaimFirst, losses: 1, zombie: 4, stages: 1},
		{name: "claims-late", keys: "ab", same: "00", mode: lane.ClaimFirst, crashes: 2, late: 1, stages: 1},
		{name: "claims-broken", keys: "a", mode: lane.ClaimFirst, crashes: 1, broken: 1, unheard: 1, stages: 1},
	}
}

// troubleWorlds: failed writes, lost answers, new producers, give-ups.
func troubleWorlds() []world {
	return []world{
		{name: "broken", keys: "aa", broken: 1, crashes: 1, stages: 1},
		{name: "broken-two", keys: "a", broken: 2, crashes: 1, stages: 2},
		{name: "broken-off", keys: "aa", broken: 2, stages: 1, crashes: 1, mode: lane.Off},
		{name: "unheard", keys: "aa", unheard: 1, crashes: 1, stages: 1, commits: 2},
		{name: "refused", keys: "aa", refused: 1, crashes: 1, stages: 1},
		{name: "renew", keys: "aa", renewals: 1, crashes: 1, stages: 1, late: 1},
		{name: "renew-loose", keys: "--", renewals: 1, crashes: 1, stages: 1, late: 2, outcomes: ok},
		{name: "renew-claims", keys: "a", renewals: 1, crashes: 1, stages: 1, mode: lane.ClaimFirst},
		{name: "giveup", keys: "aa", giveUps: 1, crashes: 1, stages: 1},
		{name: "giveup-off", keys: "ab", giveUps: 2, stages: 1, mode: lane.Off},
		{name: "bits", keys: "--", outcomes: ok, crashes: 2, broken: 1, stages: 1},
		{name: "bits-three", keys: "---", outcomes: ok, crashes: 1, broken: 1, stages: 1},
		{name: "killer", keys: "aab", killer: 1, careful: 3, crashes: 7, stages: 1, attempts: 1, outcomes: ok},
		{name: "killer-second", keys: "-b", killer: 2, careful: 2, crashes: 7, stages: 1, attempts: 1, outcomes: ok},
		{name: "killer-outside", keys: "-b", killer: 2, kills: 1, careful: 1, crashes: 5, stages: 1, attempts: 1, outcomes: ok},
		{name: "partly", keys: "a", partly: 1, crashes: 1, stages: 1},
		{name: "dropped", keys: "a", dropped: true, crashes: 1, attempts: 3, commits: -1},
		{name: "held", keys: "abc", held: 1, stages: 1, commits: -1, outcomes: ok | fails},
		{name: "forget", keys: "a", same: "0", forgets: 1, crashes: 1, stages: 1, attempts: 1},
		{name: "forget-dead", keys: "a", forgets: 1, crashes: 1, stages: 1, attempts: 1, outcomes: permanent},
		{name: "careful", keys: "ab", careful: 1, crashes: 2, stages: 1},
	}
}

// deadWorlds: what dead owners' writes and zombies do.
func deadWorlds() []world {
	return []world{
		{name: "late", keys: "a", crashes: 2, late: 1, stages: 2},
		{name: "late-two", keys: "aa", crashes: 2, late: 2, stages: 1, commits: -1},
		{name: "late-pair", keys: "aa", crashes: 1, late: 1, stages: 1},
		{name: "late-bits", keys: "--", crashes: 3, late: 1, stages: 1, outcomes: ok},
		{name: "late-dead", keys: "aa", crashes: 1, late: 1, stages: 1, attempts: 1, outcomes: ok | permanent},
		{name: "late-fine", keys: "a", crashes: 2, late: 1, stages: 1, fine: true},
		{name: "late-same", keys: "ab", same: "00", crashes: 1, late: 1, stages: 1},
		{name: "late-off", keys: "a", crashes: 1, late: 2, stages: 2, mode: lane.Off},
		{name: "zombie", keys: "a", losses: 1, zombie: 5, crashes: 1, stages: 1},
		{name: "zombie-pair", keys: "aa", losses: 1, zombie: 4, stages: 1},
		{name: "zombie-bits", keys: "--", losses: 1, zombie: 5, crashes: 1, stages: 1, outcomes: ok},
		{name: "zombie-reads", keys: "aa", losses: 1, zombie: 2, stages: 1, attempts: 2, commits: -1},
		{name: "zombie-off", keys: "a", losses: 1, zombie: 5, stages: 1, mode: lane.Off},
	}
}

// sourceWorlds: the source is cut by an unclean election, or created anew, or read from its end.
func sourceWorlds() []world {
	return []world{
		{name: "latest", keys: "ab", latest: true, present: 0, crashes: 2, stages: 1, outcomes: ok},
		{name: "latest-behind", keys: "ab", latest: true, present: 1, crashes: 2, stages: 1, outcomes: ok | fails},
		{name: "cut-0", keys: "aa", logs: [][]int{{0}, {1}}, epochs: []int32{0, 1}, crashes: 1, stages: 1},
		{name: "cut-1", keys: "aaa", logs: [][]int{{0, 1}, {0, 2}}, epochs: []int32{0, 0, 1}, crashes: 1, stages: 1},
		{name: "cut-1-off", keys: "aaa", logs: [][]int{{0, 1}, {0, 2}}, epochs: []int32{0, 0, 1}, crashes: 1, stages: 1, mode: lane.Off},
		{name: "cut-shorter", keys: "aa", logs: [][]int{{0, 1}, {0}}, crashes: 1, stages: 1},
		{name: "cut-twice", keys: "---", logs: [][]int{{0}, {1}, {2}}, epochs: []int32{0, 1, 2}, crashes: 2, stages: 1, outcomes: ok},
		{name: "cut-back", keys: "---", logs: [][]int{{0, 1}, {2}, {0, 1}}, epochs: []int32{0, 0, 1}, crashes: 2, stages: 1, outcomes: ok},
		{name: "cut-loose", keys: "---", logs: [][]int{{0, 1}, {0, 2}}, epochs: []int32{0, 0, 1}, crashes: 2, stages: 1, outcomes: ok},
		{name: "anew", keys: "aa", logs: [][]int{{0}, {1}}, topics: []int{0, 1}, crashes: 1, stages: 1},
		{name: "anew-claims", keys: "aa", logs: [][]int{{0}, {1}}, topics: []int{0, 1}, crashes: 1, stages: 1, mode: lane.ClaimFirst},
	}
}
