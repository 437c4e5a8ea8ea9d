package server

import "github.com/flashlane/flashlane/actors/intake"

// usage is OpenAI's usage object.
type usage struct {
	Prompt     int             `json:"prompt_tokens"`
	Completion int             `json:"completion_tokens"`
	Total      int             `json:"total_tokens"`
	PromptHow  promptUsage     `json:"prompt_tokens_details"`
	How        completionUsage `json:"completion_tokens_details"`
}

type promptUsage struct {
	Cached int `json:"cached_tokens"`
}

type completionUsage struct {
	Reasoning int `json:"reasoning_tokens"`
	Accepted  int `json:"accepted_prediction_tokens"`
	Rejected  int `json:"rejected_prediction_tokens"`
}

// usageOf sums up a job: a prompt counts once, however many choices it has.
func usageOf(j *job, reports []*intake.Report) *usage {
	u := &usage{}
	for i, r := range reports {
		if i%j.n == 0 {
			u.Prompt += r.PromptTokens
			u.PromptHow.Cached += r.CachedTokens
		}
		u.Completion += r.CompletionTokens
		u.How.Reasoning += r.ReasoningTokens
		u.How.Accepted += r.AcceptedDrafts
		u.How.Rejected += r.RejectedDrafts
	}
	u.Total = u.Prompt + u.Completion
	return u
}
