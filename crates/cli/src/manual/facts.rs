//! What is said about this build.

use std::sync::LazyLock;

use contexture::revision::Revision;

/// For `--version`; `-V` says the number alone.
pub(super) static FACTS: LazyLock<String> = LazyLock::new(|| {
    let commit = match env!("CONTEXTURE_COMMIT") {
        "" => "not known",
        commit => commit,
    };
    format!(
        "{}\n  commit     {commit}\n  build      {}, {}\n  compiler   {}\n  revisions  {}\n  transports stdio, Streamable HTTP, HTTP+SSE",
        env!("CARGO_PKG_VERSION"),
        env!("CONTEXTURE_PROFILE"),
        env!("CONTEXTURE_TARGET"),
        env!("CONTEXTURE_RUSTC"),
        Revision::ALL.map(Revision::as_str).join(", "),
    )
});
