// A client of wire_server with Java's HttpClient and HTTP/2. Usage: java Http2.java URL, without a
// path. -Djavax.net.ssl.trustStore sets the trust store. Prints the version and "ok" after success.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

public class Http2 {
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
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
        HttpRequest first = HttpRequest.newBuilder(URI.create(base + "/hello")).build();
        HttpResponse<String> hello = client.send(first, HttpResponse.BodyHandlers.ofString());
        check(hello.body().equals("Hello, world\n"), "a body");
        List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(base + "/users/" + i)).build();
            all.add(client.sendAsync(request, HttpResponse.BodyHandlers.ofString()));
        }
        for (int i = 0; i < 80; i++) check(all.get(i).get().body().equals("user id=[" + i + "]"), "a response");
        HttpRequest post = HttpRequest.newBuilder(URI.create(base + "/echo")).POST(HttpRequest.BodyPublishers.ofByteArray(pattern(300000))).build();
        check(Arrays.equals(client.send(post, HttpResponse.BodyHandlers.ofByteArray()).body(), pattern(300000)), "an echo");
        HttpRequest large = HttpRequest.newBuilder(URI.create(base + "/large?size=3000000")).build();
        check(Arrays.equals(client.send(large, HttpResponse.BodyHandlers.ofByteArray()).body(), pattern(3000000)), "a large response");
        System.out.println(hello.version() + " ok");
        System.exit(0);
    }
}
