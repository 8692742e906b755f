"""Receives OTLP over HTTP in JSON, decodes it with OpenTelemetry's own messages and prints each span as a line of JSON.

    otlp_receiver.py                       prints "listening PORT" first
    otlp_receiver.py CERTIFICATE KEY       the same over TLS

Source: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

import base64
import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

ids = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def proto3(value):
    """OTLP has ids as hexadecimal digits, where protobuf's JSON has bytes in base64."""
    if isinstance(value, list):
        return [proto3(element) for element in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for key, member in value.items():
        if key in ids:
            data = bytes.fromhex(member)
            assert len(data) == ids[key] and member == member.lower(), f"{key}: {member}"
            member = base64.b64encode(data).decode()
        result[key] = proto3(member)
    return result


def values(attributes):
    return {one.key: str(getattr(one.value, one.value.WhichOneof("value"))) for one in attributes}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = json_format.ParseDict(proto3(body), ExportTraceServiceRequest())
        for resource in request.resource_spans:
            service = values(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                for span in scope.spans:
                    line = {
                        "service": service, "trace": span.trace_id.hex(), "span": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(), "name": span.name, "kind": Span.SpanKind.Name(span.kind),
                        "status": span.status.code, "start": span.start_time_unix_nano, "end": span.end_time_unix_nano,
                        "attributes": values(span.attributes),
                    }
                    print(json.dumps(line), flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        # An ExportTraceServiceResponse.
        self.wfile.write(b"{}")

    def log_message(self, *_arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 1:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(f"listening {server.server_port}", flush=True)
server.serve_forever()
