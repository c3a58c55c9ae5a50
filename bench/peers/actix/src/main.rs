//! actix_peer SITE WORKERS: the server on actix-web that `./dev bench http` compares with: its own server and file service, with
//! mimalloc as uvhttp has it.
use actix_web::http::header::ContentType;
use actix_web::{web, App, HttpResponse, HttpServer};
use serde::Serialize;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BODY_LIMIT: usize = 1024 * 1024;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

async fn answer_memory() -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::plaintext()).body("Hello, world\n")
}

async fn answer_json() -> HttpResponse {
    HttpResponse::Ok().json(Message { message: "Hello, world" })
}

async fn echo(body: web::Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::octet_stream()).body(body)
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let site = words[1].clone();
    let workers = words[2].parse().expect("the number of workers");
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::PayloadConfig::new(BODY_LIMIT))
            .route("/memory", web::get().to(answer_memory))
            .route("/json", web::get().to(answer_json))
            .route("/echo", web::post().to(echo))
            .service(actix_files::Files::new("/", site.clone()))
    })
    .workers(workers)
    .backlog(4096)
    .max_connections(8192)
    .bind(("127.0.0.1", 0))?;
    println!("listening on http://{}/", server.addrs()[0]);
    server.run().await
}
