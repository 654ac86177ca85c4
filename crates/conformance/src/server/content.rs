//! Tools that return content of each kind, and one that fails.

use contexture::model::{CallToolResult, Content, ResourceContents};
use contexture::{Server, tool};

use super::{PNG, WAV};

pub(super) fn register(server: Server) -> Server {
    server
        .tool(
            tool("test_simple_text")
                .description("Returns text.")
                .handler(|| async { "This is a simple text response for testing." }),
        )
        .tool(
            tool("test_image_content")
                .description("Returns a picture.")
                .handler(|| async { Content::image(PNG, "image/png") }),
        )
        .tool(
            tool("test_audio_content")
                .description("Returns a sound.")
                .handler(|| async { Content::audio(WAV, "audio/wav") }),
        )
        .tool(
            tool("test_embedded_resource")
                .description("Returns a resource.")
                .handler(|| async { embedded() }),
        )
        .tool(
            tool("test_multiple_content_types")
                .description("Returns text, a picture and a resource.")
                .handler(|| async { mixed() }),
        )
        .tool(tool("test_error_handling").description("Fails, as tools do: the model sees it.").handler(
            || async { CallToolResult::error("This tool intentionally returns an error for testing") },
        ))
}

fn embedded() -> Content {
    let text = "This is an embedded resource content.";
    Content::resource(ResourceContents::text("test://embedded-resource", text).mime_type("text/plain"))
}

fn mixed() -> Vec<Content> {
    let data = r#"{"test":"data","value":123}"#;
    let resource =
        ResourceContents::text("test://mixed-content-resource", data).mime_type("application/json");
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PNG, "image/png"),
        Content::resource(resource),
    ]
}
