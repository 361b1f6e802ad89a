package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/conf"
)

// DecodeConfig decodes and validates a configuration that a run has written. Errors begin with the
// path of its file, and are not *ConfigError: the user has not made the mistake.
func DecodeConfig(s catalogue.Systems, data []byte, path string) (engine.Config, error) {
	const file = "its configuration"
	data = migrate(data)
	cfg, err := s.Base(data, file)
	if err == nil {
		err = conf.Decode(data, file, cfg)
	}
	if err == nil {
		if err = cfg.Validate(); err != nil {
			err = fmt.Errorf("its configuration: %w", err)
		}
	}
	if err != nil {
		return nil, errors.New(path + ": " + err.Error())
	}
	return cfg, nil
}

// migrate translates the configuration of a run of a former version, so that its generator can
// be used. Losses that no longer exist are replaced or left out, since they do not change it.
func migrate(text []byte) []byte {
	var c, loss, target map[string]json.RawMessage
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
	for _, key := range []string{"forward", "witness", "density_weight"} {
		delete(loss, key)
	}
	c["loss"], _ = json.Marshal(loss)
	_ = json.Unmarshal(c["target"], &target) // nil if there is none
	if _, bounded := target["support"]; bounded && target["link"] == nil {
		target["link"] = json.RawMessage(`"logit"`)
		c["target"], _ = json.Marshal(target)
	}
	text, _ = json.Marshal(c)
	return text
}
