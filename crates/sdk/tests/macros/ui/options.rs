//! Options that are not there, not complete, or not to be understood.

use contexture::{prompt, resource, tool};

#[tool(readonly)]
async fn misspelt() {}

#[prompt(read_only)]
async fn of_another_kind() {}

#[tool(title)]
async fn without_value() {}

#[tool(read_only = "yes")]
async fn no_boolean() {}

#[tool(read_only, read_only)]
async fn given_twice() {}

#[tool("name")]
async fn positional() {}

#[tool]
async fn argument(#[arg(optional)] value: u8) {}

#[resource]
async fn nowhere() -> String {
    String::new()
}

#[resource(mime_type = "text/plain")]
async fn still_nowhere() -> String {
    String::new()
}

#[resource("demo://{id}")]
async fn no_variable(number: u8) -> String {
    number.to_string()
}

fn main() {}
