package engine

import "github.com/revgen/revgen/engine/critic"

// CriticState lists what a discriminator carries from step to step.
func CriticState(c *critic.Critic) []Section {
	m, v := c.Moments()
	return []Section{
		{Name: "critic.params", Float32: c.Params}, {Name: "critic.m", Float32: m}, {Name: "critic.v", Float32: v},
		{Name: "critic.taken", Float64: c.Taken},
	}
}
