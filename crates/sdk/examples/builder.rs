//! The same without macros: closures, and parameters that are extracted by their types.

use contexture::server::Choices;
use contexture::{Args, Context, Json, Server, State, prompt, resource, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Search {
    /// Part of a word.
    part: String,
    /// How many to return at most.
    #[serde(default = "ten")]
    limit: usize,
}

fn ten() -> usize {
    10
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Letter {
    letter: String,
}

struct Words {
    all: Vec<&'static str>,
}

#[tokio::main]
async fn main() -> contexture::Result<()> {
    let search = tool("search").description("Finds words.").read_only().handler(
        |context: Context, words: State<Words>, Args(search): Args<Search>| async move {
            context.progress(0.0, None);
            let found = words.all.iter().filter(|word| word.contains(&search.part));
            Json(found.take(search.limit).copied().collect::<Vec<&str>>())
        },
    );
    let rhyme = prompt("rhyme")
        .description("Asks for a rhyme.")
        .handler(|Args(with): Args<Letter>| async move { format!("A rhyme, please, with {}", with.letter) });
    let about = resource("words://about").name("about").text("Words of a language.");
    Server::new("words", "1.0.0")
        .state(Words { all: vec!["apple", "apply", "banana"] })
        .tool(search)
        .prompt(rhyme)
        .complete_prompt("rhyme", "letter", Choices::new(["a", "b", "c"]))
        .resource(about)
        .serve_stdio()
        .await
}
