//! The documents that say where everything is and what can be done: RFC 8414, its OpenID form, and the public key.

use contexture::auth::jwt::Algorithm;
use serde_json::{Value, json};

use crate::proof::ALGORITHMS;
use crate::server::Shared;

/// Ways in which clients prove themselves.
const METHODS: [&str; 4] = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];
/// The same for endpoints that public clients have no business at.
const PROVEN: [&str; 3] = ["client_secret_basic", "client_secret_post", "private_key_jwt"];

/// Authorization server metadata.
pub(crate) fn oauth(shared: &Shared) -> Value {
    let algorithms = ALGORITHMS.map(Algorithm::name);
    let mut document = json!({
        "issuer": shared.issuer,
        "authorization_endpoint": shared.endpoint("authorize"),
        "token_endpoint": shared.endpoint("token"),
        "registration_endpoint": shared.endpoint("register"),
        "revocation_endpoint": shared.endpoint("revoke"),
        "introspection_endpoint": shared.endpoint("introspect"),
        "jwks_uri": shared.endpoint("jwks"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": METHODS,
        "token_endpoint_auth_signing_alg_values_supported": algorithms,
        "revocation_endpoint_auth_methods_supported": METHODS,
        "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
        "introspection_endpoint_auth_methods_supported": PROVEN,
        "introspection_endpoint_auth_signing_alg_values_supported": algorithms,
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    });
    if let Some(scopes) = &shared.scopes {
        document["scopes_supported"] = scopes.iter().collect();
    }
    document
}

/// The same with what OpenID's form of it demands. There are no id tokens here; clients that read this form
/// refuse it without these members.
pub(crate) fn openid(shared: &Shared) -> Value {
    let mut document = oauth(shared);
    document["subject_types_supported"] = json!(["public"]);
    document["id_token_signing_alg_values_supported"] = json!(["ES256"]);
    document
}

/// The key that our tokens are signed with.
pub(crate) fn keys(shared: &Shared) -> Value {
    json!({ "keys": [shared.key.public_jwk()] })
}
