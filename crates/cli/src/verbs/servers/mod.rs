//! The verbs that change configurations: `add`, `get`, `list`, `remove`, `enable`, `disable`, `import`, `export`.
//!
//! They change one file at a time, and in it only the entries that are meant; files of other hosts only when they are named. What
//! may be a secret is never shown. They start nothing.

mod add;
mod change;
mod export;
mod find;
mod import;
mod overview;
mod page;

pub(super) use add::add;
pub(super) use change::{remove, switch};
pub(super) use export::export;
pub(super) use import::import;
pub(super) use overview::{get, list};
