//! Here will be: see ARCHITECTURE.md.
