package engine

import "encoding/json"

// modern returns the configuration that a run of a former version has written in today's
// words, so that its generator can be used. What was said of a loss that is gone says
// nothing of a generator.
func modern(text []byte) []byte {
	var c, loss map[string]json.RawMessage
	if json.Unmarshal(text, &c) != nil || json.Unmarshal(c["loss"], &loss) != nil {
		return text
	}
	if string(c["preset"]) == `"moves"` {
		c["preset"] = json.RawMessage(`"best"`)
	}
	_, partners := loss["partners"]
	switch kind := string(loss["kind"]); {
	case kind == `"divergence"`:
		loss["kind"], loss["partners"] = json.RawMessage(`"balance"`), json.RawMessage("1")
	case kind == `"balance"` && !partners:
		loss["partners"] = json.RawMessage("0")
	case kind == `"stationarity"`, kind == `"kfd"`:
		loss["kind"] = json.RawMessage(`"mmd"`)
	}
	for _, gone := range []string{"forward", "witness", "density_weight"} {
		delete(loss, gone)
	}
	c["loss"], _ = json.Marshal(loss)
	text, _ = json.Marshal(c)
	return text
}
