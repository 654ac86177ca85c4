//! Resources: text, bytes, a template, and one to subscribe to.

use contexture::{Args, Error, Server, resource};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::PNG;

pub(super) fn register(server: Server) -> Server {
    server
        .resource(
            resource("test://static-text")
                .name("static-text")
                .description("Text that never changes.")
                .mime_type("text/plain")
                .text("This is the content of the static text resource."),
        )
        .resource(
            resource("test://static-binary")
                .name("static-binary")
                .description("Bytes that never change.")
                .mime_type("image/png")
                .bytes(PNG),
        )
        .resource(
            resource("test://watched-resource")
                .name("watched-resource")
                .description("Text to subscribe to.")
                .mime_type("text/plain")
                .text("Watched resource content."),
        )
        .resource(
            resource("test://template/{id}/data")
                .name("template")
                .description("Data with an id.")
                .mime_type("application/json")
                .handler(data),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Id {
    id: String,
}

async fn data(Args(Id { id }): Args<Id>) -> Result<String, Error> {
    Ok(json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string())
}
