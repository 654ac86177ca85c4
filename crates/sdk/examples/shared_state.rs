//! Handlers that share a value: an `impl` block.

use std::sync::{Mutex, PoisonError};

use contexture::{Error, Server, handlers, prompt, resource, tool};

/// Notes, numbered from 0.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

#[handlers]
impl Notes {
    /// Keeps a note and returns its number.
    #[tool(destructive = false)]
    async fn keep(
        &self,
        /// What to remember.
        text: String,
    ) -> usize {
        self.with(|notes| {
            notes.push(text);
            notes.len() - 1
        })
    }

    /// One note.
    #[resource("notes://{number}", mime_type = "text/plain")]
    async fn note(&self, number: usize) -> Result<String, Error> {
        self.with(|notes| notes.get(number).cloned()).ok_or(Error::NotFound)
    }

    /// Asks for a summary of everything.
    #[prompt]
    fn summary(&self, #[arg(default = 3)] sentences: u32) -> String {
        let notes = self.with(|notes| notes.join("\n- "));
        format!("Summarize in {sentences} sentences:\n- {notes}")
    }

    /// Without a mark, a method stays what it is.
    fn with<T>(&self, work: impl FnOnce(&mut Vec<String>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[tokio::main]
async fn main() -> contexture::Result<()> {
    Server::new("notes", "1.0.0").handlers(Notes::default()).serve_stdio().await
}
