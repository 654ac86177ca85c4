//! Blocks of handlers that cannot be shared, or have none.

use contexture::{handlers, resource, tool};

struct Notes;

#[handlers]
impl Notes {
    #[tool]
    async fn change(&mut self) {}

    #[tool]
    async fn consume(self) {}

    #[tool]
    #[contexture::prompt]
    async fn both(&self) {}

    #[resource]
    async fn nowhere(&self) -> String {
        String::new()
    }
}

struct Silent;

#[handlers]
impl Silent {
    fn quiet(&self) {}
}

trait Speak {
    fn speak(&self);
}

struct Speaker;

#[handlers]
impl Speak for Speaker {
    #[tool]
    fn speak(&self) {}
}

#[handlers(all)]
fn function() {}

fn main() {
    let _ = contexture::Server::new("demo", "1").handlers(Notes).handlers(Silent);
}
