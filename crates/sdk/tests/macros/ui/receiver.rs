//! Methods where there is no block of handlers.

use contexture::tool;

struct Notes;

impl Notes {
    #[tool]
    async fn list(&self) -> Vec<String> {
        Vec::new()
    }
}

fn main() {}
