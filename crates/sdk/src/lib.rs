//! Contexture: servers, clients and hosts of the Model Context Protocol.
