// A client of wire_server with Java's HttpClient: HTTP and WebSocket. Usage: java Fetch.java URL,
// without a path. -Djavax.net.ssl.trustStore sets the trust store. Prints "ok" after success.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

public class Fetch {
    static byte[] pattern(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) bytes[i] = (byte) (i % 251);
        return bytes;
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    public static void main(String[] arguments) throws Exception {
        String base = arguments[0];
        HttpClient client = HttpClient.newHttpClient();
        for (int i = 0; i < 20; i++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(base + "/users/" + i)).build();
            check(client.send(request, HttpResponse.BodyHandlers.ofString()).body().equals("user id=[" + i + "]"), "a response");
        }
        HttpRequest post = HttpRequest.newBuilder(URI.create(base + "/echo")).POST(HttpRequest.BodyPublishers.ofByteArray(pattern(300000))).build();
        check(Arrays.equals(client.send(post, HttpResponse.BodyHandlers.ofByteArray()).body(), pattern(300000)), "an echo");
        HttpRequest large = HttpRequest.newBuilder(URI.create(base + "/large?size=3000000")).build();
        check(Arrays.equals(client.send(large, HttpResponse.BodyHandlers.ofByteArray()).body(), pattern(3000000)), "a large response");

        CompletableFuture<String> echoed = new CompletableFuture<>();
        WebSocket socket = client.newWebSocketBuilder().buildAsync(URI.create(base.replace("http", "ws") + "/ws/echo"), new WebSocket.Listener() {
            public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
                echoed.complete(data.toString());
                return null;
            }
        }).get();
        socket.sendText("over WebSocket", true).get();
        check(echoed.get().equals("over WebSocket"), "a message");
        socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get();
        System.out.println("ok");
        System.exit(0);
    }
}
