package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/conf"
)

// Read reads the model of a run directory or a model file with the configuration
// that trained it, of one of the systems.
func Read(s catalogue.Systems, path string) (*Model, engine.Config, error) {
	model, err := ReadModel(path)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := Written(s, model.Config, path)
	return model, cfg, err
}

// Written decodes and validates a configuration that a run has written. Its
// errors are not mistakes of the user.
func Written(s catalogue.Systems, data []byte, path string) (engine.Config, error) {
	const file = "its configuration"
	data = modern(data)
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

// modern returns the configuration that a run of a former version has written in today's
// words, so that its generator can be used. What was said of a loss that is gone says
// nothing of a generator.
func modern(text []byte) []byte {
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
	for _, gone := range []string{"forward", "witness", "density_weight"} {
		delete(loss, gone)
	}
	c["loss"], _ = json.Marshal(loss)
	_ = json.Unmarshal(c["target"], &target) // if there is one
	if _, bounds := target["support"]; bounds && target["link"] == nil {
		target["link"] = json.RawMessage(`"logit"`)
		c["target"], _ = json.Marshal(target)
	}
	text, _ = json.Marshal(c)
	return text
}
