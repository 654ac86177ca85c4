//! What is configured: formats, variables, mistakes, merging, trust, changes, bounds.

#[path = "config/stage.rs"]
mod stage;

#[path = "config/bounds.rs"]
mod bounds;
#[path = "config/changes.rs"]
mod changes;
#[path = "config/document.rs"]
mod document;
#[path = "config/formats.rs"]
mod formats;
#[path = "config/merging.rs"]
mod merging;
#[path = "config/mistakes.rs"]
mod mistakes;
#[path = "config/own.rs"]
mod own;
#[path = "config/patterns.rs"]
mod patterns;
#[path = "config/places.rs"]
mod places;
#[path = "config/trust.rs"]
mod trust;
#[path = "config/variables.rs"]
mod variables;
