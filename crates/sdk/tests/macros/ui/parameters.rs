//! Parameters that can be neither decoded nor extracted.

use contexture::server::{Session, Uri};
use contexture::{Args, Context, prompt, tool};

#[tool]
async fn text(text: &str) {}

#[tool]
async fn list(list: &[u8]) {}

#[tool]
async fn context(context: &Context) {}

#[tool]
async fn nested(maybe: Option<&'static str>) {}

#[tool]
async fn opaque(value: impl Send) {}

#[tool]
async fn pattern((a, b): (u8, u8)) {}

#[tool]
async fn nameless(_: u8) {}

#[tool]
async fn twice(a: u8, #[arg(name = "a")] b: u8) {}

#[tool]
async fn both(args: Args<Vec<u8>>, a: u8) {}

#[tool]
async fn several(args: Args<Vec<u8>>, more: Args<Vec<u8>>) {}

#[prompt]
async fn session(session: Session) {}

#[prompt]
async fn uri(uri: Uri) {}

#[tool]
async fn described(
    /// This comment describes no argument.
    context: Context,
) {
}

#[tool]
async fn many(a: Context, b: Context, c: Context, d: Context, e: Context, f: Context, g: u8) {}

fn main() {}
