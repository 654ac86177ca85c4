//! Staying inside the client's roots.
//!
//! A path is inside when what it really is (all links followed) lies below what a root really is. Nothing
//! here opens anything for you, and a root that has vanished contains nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contexture_core::uri;

use crate::model::Root;
use crate::{Error, Result};

/// Drops what is no root: only `file:` URIs without tricks are.
pub(super) fn valid_roots(roots: Vec<Root>) -> Arc<[Root]> {
    roots
        .into_iter()
        .filter(|root| {
            let valid = uri::check_root(&root.uri).is_ok();
            if !valid {
                tracing::warn!("a root that is no file URI was ignored");
            }
            valid
        })
        .collect()
}

/// The path that a root names.
pub fn root_path(root: &Root) -> Option<PathBuf> {
    uri::check_root(&root.uri).ok()?;
    let path = root.uri.strip_prefix("file://")?.trim_start_matches("localhost");
    String::from_utf8(uri::percent_decode(path).into_owned()).ok().map(PathBuf::from)
}

/// Resolves a path and refuses it unless it lies inside one of the roots.
///
/// # Errors
/// [`Error::NotFound`] for everything outside: it does not say whether the path exists.
pub fn resolve_inside(roots: &[Root], path: &Path) -> Result<PathBuf> {
    let real = path.canonicalize().map_err(|_| Error::NotFound)?;
    let inside = roots
        .iter()
        .filter_map(root_path)
        .filter_map(|root| root.canonicalize().ok())
        .any(|root| real.starts_with(root));
    if inside { Ok(real) } else { Err(Error::NotFound) }
}
