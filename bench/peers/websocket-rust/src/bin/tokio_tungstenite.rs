//! tokio_tungstenite: the server on tokio-tungstenite that `./dev bench ws` compares with: one thread, a task for each connection, mimalloc as
//! uvhttp has it. /topic sends to all others through a channel of tokio's; every other path sends back.
use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::WebSocketStream;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Socket = WebSocketStream<TcpStream>;
type News = broadcast::Sender<(u64, Message)>;

const BEHIND: usize = 1024;

fn is_data(message: &Message) -> bool {
    message.is_text() || message.is_binary()
}

async fn echo(mut socket: Socket) -> Result<(), Error> {
    while let Some(message) = socket.next().await.transpose()? {
        if is_data(&message) {
            socket.send(message).await?;
        }
    }
    Ok(())
}

async fn subscribe(mut socket: Socket, news: News, me: u64) -> Result<(), Error> {
    let mut receiver = news.subscribe();
    loop {
        tokio::select! {
            item = receiver.recv() => match item {
                Ok((from, message)) if from != me => socket.send(message).await?,
                Ok(_) => {}
                Err(_) => return Ok(()), // too far behind
            },
            message = socket.next() => match message.transpose()? {
                Some(message) if is_data(&message) => drop(news.send((me, message))),
                Some(_) => {}
                None => return Ok(()),
            },
        }
    }
}

async fn serve(stream: TcpStream, news: News, me: u64) -> Result<(), Error> {
    let mut topic = false;
    #[allow(clippy::result_large_err)]
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        topic = request.uri().path() == "/topic";
        Ok(response)
    };
    let socket = tokio_tungstenite::accept_hdr_async(stream, look).await?;
    if topic {
        subscribe(socket, news, me).await
    } else {
        echo(socket).await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}/", listener.local_addr()?);
    let (news, _keep) = broadcast::channel(BEHIND);
    let mut count = 0;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        count += 1;
        tokio::spawn(serve(stream, news.clone(), count));
    }
}
