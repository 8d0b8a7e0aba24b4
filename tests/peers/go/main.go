// SPDX-License-Identifier: MIT OR Apache-2.0

// Drives every method of a running service through grpc-go, which is what Curio uses: peer ADDRESS. Exit status 1 if anything was not
// as expected. Environment: CUZK_TOKEN (bearer token), CUZK_TLS_DIR (ca.pem, client.pem, client.key: TLS with a client's certificate).
//
//	peer --certificates DIR   makes those files, and server.pem, server.key
//	peer --watch ADDRESS      exits when health says NOT_SERVING
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"cuzk/tests/peers/cuzkv1"
)

const service = "cuzk.v1.ProvingEngine"

var (
	checks, failures int
	lock             sync.Mutex
	prefix           = fmt.Sprintf("go-%d", time.Now().UnixNano())
)

func check(ok bool, format string, args ...interface{}) {
	lock.Lock()
	defer lock.Unlock()
	checks++
	if !ok {
		failures++
		fmt.Printf("FAILED: "+format+"\n", args...)
	}
}

func expect(what string, err error, want codes.Code) {
	check(status.Code(err) == want, "%s: %v, expected %v (%v)", what, status.Code(err), want, err)
}

func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// raw sends bytes as they are.
type raw struct{}

func (raw) Marshal(v interface{}) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v interface{}) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                               { return "proto" }

func request(kind cuzkv1.ProofKind, id string, text string) *cuzkv1.SubmitProofRequest {
	return &cuzkv1.SubmitProofRequest{RequestId: id, ProofKind: kind, MinerId: 1000, SectorNumber: 7, VanillaProof: []byte(prefix + text),
		Randomness: bytes.Repeat([]byte{7}, 32)}
}

func jobs(c cuzkv1.ProvingEngineClient) {
	ctx, cancel := within(60 * time.Second)
	defer cancel()
	sizes := map[cuzkv1.ProofKind]int{cuzkv1.ProofKind_POREP_SEAL_COMMIT: 10, cuzkv1.ProofKind_SNAP_DEALS_UPDATE: 16,
		cuzkv1.ProofKind_WINDOW_POST_PARTITION: 1, cuzkv1.ProofKind_WINNING_POST: 1}
	for kind, parts := range sizes {
		id := fmt.Sprintf("%s-%v", prefix, kind)
		r, err := c.SubmitProof(ctx, request(kind, id, "submit"))
		expect("SubmitProof", err, codes.OK)
		check(r.GetJobId() == id, "job id %q", r.GetJobId())
		for i := 0; i < 2; i++ {
			a, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: id})
			expect("AwaitProof", err, codes.OK)
			check(a.GetStatus() == cuzkv1.AwaitProofResponse_COMPLETED && len(a.GetProof()) == 192*parts && a.GetJobId() == id &&
				a.GetErrorMessage() == "", "AwaitProof of %v: %v, %d bytes, %q", kind, a.GetStatus(), len(a.GetProof()), a.GetErrorMessage())
		}
	}
	p, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: request(cuzkv1.ProofKind_WINNING_POST, "", "prove")})
	expect("Prove", err, codes.OK)
	check(p.GetResult().GetStatus() == cuzkv1.AwaitProofResponse_COMPLETED && len(p.GetResult().GetProof()) == 192 &&
		len(p.GetResult().GetJobId()) == 36, "Prove: %v", p)
	var all sync.WaitGroup
	for i := 0; i < 100; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			p, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: request(cuzkv1.ProofKind_WINNING_POST, "", fmt.Sprint("many", i))})
			expect("one of many", err, codes.OK)
			check(p.GetResult().GetStatus() == cuzkv1.AwaitProofResponse_COMPLETED, "one of many: %v", p)
		}(i)
	}
	all.Wait()
}

func waiting(c cuzkv1.ProvingEngineClient) {
	ctx, cancel := within(60 * time.Second)
	defer cancel()
	porep := func(text string) string {
		r, err := c.SubmitProof(ctx, request(cuzkv1.ProofKind_POREP_SEAL_COMMIT, prefix+text, text))
		expect("SubmitProof", err, codes.OK)
		return r.GetJobId()
	}
	id := porep("waiting")
	check(porep("waiting") == id, "the same request is another job")
	a, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: id, TimeoutMs: 1})
	expect("AwaitProof with a limit", err, codes.OK)
	check(a.GetStatus() == cuzkv1.AwaitProofResponse_TIMEOUT, "AwaitProof with a limit: %v", a)
	short, stop := within(50 * time.Millisecond)
	_, err = c.AwaitProof(short, &cuzkv1.AwaitProofRequest{JobId: id})
	expect("AwaitProof with a deadline", err, codes.DeadlineExceeded)
	stop()
	gone, stop := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, stop)
	_, err = c.Prove(gone, &cuzkv1.ProveRequest{Submit: request(cuzkv1.ProofKind_POREP_SEAL_COMMIT, prefix+"waiting", "waiting")})
	expect("Prove, cancelled by its caller", err, codes.Canceled)
	s, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	expect("GetStatus", err, codes.OK)
	check(s.GetQueues()[0].GetPending()+s.GetQueues()[0].GetInProgress() == 1, "one job in the queues: %v", s.GetQueues())
	_, err = c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: id})
	expect("CancelProof", err, codes.OK)
	a, err = c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: id})
	expect("AwaitProof of a cancelled job", err, codes.OK)
	check(a.GetStatus() == cuzkv1.AwaitProofResponse_CANCELLED, "AwaitProof of a cancelled job: %v", a)
	k, err := c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: id})
	expect("CancelProof again", err, codes.OK)
	check(!k.GetWasRunning(), "CancelProof again: %v", k)
	_, err = c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: "nothing"})
	expect("CancelProof of nothing", err, codes.NotFound)
	_, err = c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: "nothing"})
	expect("AwaitProof of nothing", err, codes.NotFound)
}

func views(c cuzkv1.ProvingEngineClient) {
	ctx, cancel := within(30 * time.Second)
	defer cancel()
	s, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	expect("GetStatus", err, codes.OK)
	var names []string
	for _, q := range s.GetQueues() {
		names = append(names, q.GetProofKind())
	}
	check(strings.Join(names, " ") == "porep-c2 snap-update window-post winning-post", "queues %v", names)
	check(len(s.GetGpus()) > 0 && s.GetGpus()[0].GetName() != "" && s.GetTotalProofsCompleted() > 0, "GetStatus: %v", s)
	m, err := c.GetMetrics(ctx, &cuzkv1.GetMetricsRequest{})
	expect("GetMetrics", err, codes.OK)
	check(strings.Contains(m.GetPrometheusText(), "# TYPE cuzk_memory_budget_bytes gauge\n"), "GetMetrics: %.200s", m.GetPrometheusText())
	{
		const id = "wpost-32g"
		_, err := c.EvictSRS(ctx, &cuzkv1.EvictSrsRequest{CircuitId: id})
		expect("EvictSRS", err, codes.OK)
		for i := 0; i < 2; i++ {
			p, err := c.PreloadSRS(ctx, &cuzkv1.PreloadSrsRequest{CircuitId: id})
			expect("PreloadSRS", err, codes.OK)
			check(p.GetAlreadyLoaded() == (i == 1), "PreloadSRS no. %d: %v", i, p)
		}
		for i := 0; i < 2; i++ {
			e, err := c.EvictSRS(ctx, &cuzkv1.EvictSrsRequest{CircuitId: id})
			expect("EvictSRS", err, codes.OK)
			check(e.GetWasLoaded() == (i == 0) && (e.GetFreedBytes() > 0) == (i == 0), "EvictSRS no. %d: %v", i, e)
		}
	}
}

func refusals(conn *grpc.ClientConn, c cuzkv1.ProvingEngineClient) {
	ctx, cancel := within(30 * time.Second)
	defer cancel()
	for _, kind := range []cuzkv1.ProofKind{0, 5, -1} {
		_, err := c.SubmitProof(ctx, request(kind, "", "bad"))
		expect("SubmitProof of no kind", err, codes.InvalidArgument)
	}
	r := request(cuzkv1.ProofKind_WINNING_POST, "", "bad")
	r.Priority = 9
	_, err := c.SubmitProof(ctx, r)
	expect("SubmitProof of no priority", err, codes.InvalidArgument)
	_, err = c.Prove(ctx, &cuzkv1.ProveRequest{})
	expect("Prove of nothing", err, codes.InvalidArgument)
	_, err = c.PreloadSRS(ctx, &cuzkv1.PreloadSrsRequest{CircuitId: "porep-33g"})
	expect("PreloadSRS of no circuit", err, codes.InvalidArgument)
	_, err = c.EvictSRS(ctx, &cuzkv1.EvictSrsRequest{CircuitId: "porep-33g"})
	expect("EvictSRS of no circuit", err, codes.InvalidArgument)
	var answer []byte
	for _, text := range []string{"\x0a\x05", "\x0a\x01\xff", "\x07"} {
		body := []byte(text)
		for _, method := range []string{"SubmitProof", "AwaitProof", "Prove", "CancelProof", "PreloadSRS", "EvictSRS"} {
			if text == "\x0a\x01\xff" && method == "Prove" {
				continue
			}
			err := conn.Invoke(ctx, "/"+service+"/"+method, &body, &answer, grpc.ForceCodec(raw{}))
			expect(fmt.Sprintf("%s of %q", method, text), err, codes.InvalidArgument)
		}
	}
	var nothing []byte
	expect("an unknown method", conn.Invoke(ctx, "/"+service+"/Nothing", &nothing, &answer, grpc.ForceCodec(raw{})), codes.Unimplemented)
	expect("an unknown service", conn.Invoke(ctx, "/a.B/C", &nothing, &answer, grpc.ForceCodec(raw{})), codes.Unimplemented)
	_, err = c.GetStatus(ctx, &cuzkv1.GetStatusRequest{}, grpc.UseCompressor(gzip.Name))
	_, err2 := c.SubmitProof(ctx, request(cuzkv1.ProofKind_WINNING_POST, "", strings.Repeat("z", 5000)), grpc.UseCompressor(gzip.Name))
	expect("a compressed empty message", err, codes.Unimplemented)
	expect("a compressed message", err2, codes.Unimplemented)
	long := metadata.AppendToOutgoingContext(ctx, "x-long", strings.Repeat("h", 14000))
	_, err = c.GetStatus(long, &cuzkv1.GetStatusRequest{})
	expect("14 KB of metadata", err, codes.OK)
}

func large(c cuzkv1.ProvingEngineClient) {
	ctx, cancel := within(60 * time.Second)
	defer cancel()
	payload := make([]byte, 200000000)
	for i := 0; i < len(payload); i += 997 {
		payload[i] = byte(i)
	}
	copy(payload, prefix)
	start := time.Now()
	r, err := c.SubmitProof(ctx, &cuzkv1.SubmitProofRequest{ProofKind: cuzkv1.ProofKind_WINNING_POST, VanillaProof: payload})
	expect("200 MB", err, codes.OK)
	fmt.Printf("200 MB in one field: %d ms\n", time.Since(start).Milliseconds())
	a, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: r.GetJobId()})
	expect("AwaitProof of 200 MB", err, codes.OK)
	check(a.GetStatus() == cuzkv1.AwaitProofResponse_COMPLETED, "200 MB: %v %q", a.GetStatus(), a.GetErrorMessage())
	many := make([][]byte, 16)
	for i := range many {
		many[i] = payload[i*12500000 : (i+1)*12500000]
	}
	p, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: &cuzkv1.SubmitProofRequest{ProofKind: cuzkv1.ProofKind_WINNING_POST, VanillaProofs: many}})
	expect("200 MB in 16 fields", err, codes.OK)
	check(p.GetResult().GetStatus() == cuzkv1.AwaitProofResponse_COMPLETED, "200 MB in 16 fields: %v", p.GetResult().GetErrorMessage())
	payload = make([]byte, 257<<20)
	_, err = c.SubmitProof(ctx, &cuzkv1.SubmitProofRequest{ProofKind: cuzkv1.ProofKind_WINNING_POST, VanillaProof: payload})
	expect("257 MiB", err, codes.ResourceExhausted)
	stop, cancel2 := within(20 * time.Millisecond)
	defer cancel2()
	_, err = c.SubmitProof(stop, &cuzkv1.SubmitProofRequest{ProofKind: cuzkv1.ProofKind_WINNING_POST, VanillaProof: payload[:200<<20]})
	expect("an upload that its deadline ends", err, codes.DeadlineExceeded)
	_, err = c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	expect("GetStatus after large messages", err, codes.OK)
}

func healthy(conn *grpc.ClientConn) {
	ctx, cancel := within(10 * time.Second)
	defer cancel()
	h := health.NewHealthClient(conn)
	for _, name := range []string{"", service} {
		r, err := h.Check(ctx, &health.HealthCheckRequest{Service: name})
		expect("Check", err, codes.OK)
		check(r.GetStatus() == health.HealthCheckResponse_SERVING, "Check: %v", r)
	}
	_, err := h.Check(ctx, &health.HealthCheckRequest{Service: "a.B"})
	expect("Check of nothing", err, codes.NotFound)
	want := map[string]health.HealthCheckResponse_ServingStatus{service: health.HealthCheckResponse_SERVING,
		"a.B": health.HealthCheckResponse_SERVICE_UNKNOWN}
	for name, st := range want {
		watching, stop := context.WithCancel(ctx)
		w, err := h.Watch(watching, &health.HealthCheckRequest{Service: name})
		expect("Watch", err, codes.OK)
		r, err := w.Recv()
		expect("Watch", err, codes.OK)
		check(r.GetStatus() == st, "Watch of %q: %v", name, r)
		stop()
		_, err = w.Recv()
		expect("Watch, cancelled", err, codes.Canceled)
	}
}

func watch(conn *grpc.ClientConn) {
	ctx, cancel := within(30 * time.Second)
	defer cancel()
	w, err := health.NewHealthClient(conn).Watch(ctx, &health.HealthCheckRequest{Service: service})
	expect("Watch", err, codes.OK)
	r, err := w.Recv()
	check(err == nil && r.GetStatus() == health.HealthCheckResponse_SERVING, "Watch: %v %v", r, err)
	fmt.Println("watching")
	r, err = w.Recv()
	check(err == nil && r.GetStatus() == health.HealthCheckResponse_NOT_SERVING, "Watch while the service drains: %v %v", r, err)
}

func reflected(conn *grpc.ClientConn) {
	ctx, cancel := within(10 * time.Second)
	defer cancel()
	s, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	expect("reflection", err, codes.OK)
	ask := func(q *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		expect("reflection", s.Send(q), codes.OK)
		r, err := s.Recv()
		expect("reflection", err, codes.OK)
		return r
	}
	var names []string
	for _, v := range ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		names = append(names, v.GetName())
	}
	for _, want := range []string{service, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"} {
		check(strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" "), "%s is not among %v", want, names)
	}
	files := [][]byte{}
	for _, symbol := range []string{service, service + ".Prove", "cuzk.v1.AwaitProofResponse"} {
		f := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}})
		files = append(files, f.GetFileDescriptorResponse().GetFileDescriptorProto()...)
		check(len(f.GetFileDescriptorResponse().GetFileDescriptorProto()) > 0, "%s: %v", symbol, f)
	}
	for _, bin := range files {
		d := &descriptorpb.FileDescriptorProto{}
		expect("a descriptor", proto.Unmarshal(bin, d), codes.OK)
		check(len(d.GetService()) == 1 && len(d.GetService()[0].GetMethod()) == 8, "descriptor of %s: %d services", d.GetName(), len(d.GetService()))
		f := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: d.GetName()}})
		check(len(f.GetFileDescriptorResponse().GetFileDescriptorProto()) == 1, "%s: %v", d.GetName(), f)
	}
	e := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "a.B"}})
	check(codes.Code(e.GetErrorResponse().GetErrorCode()) == codes.NotFound, "a symbol that is not there: %v", e)
	expect("reflection", s.CloseSend(), codes.OK)
	_, err = s.Recv()
	check(err != nil && err.Error() == "EOF", "reflection's end: %v", err)

	old, err := reflectionalpha.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	expect("reflection v1alpha", err, codes.OK)
	expect("reflection v1alpha", old.Send(&reflectionalpha.ServerReflectionRequest{MessageRequest: &reflectionalpha.ServerReflectionRequest_ListServices{}}), codes.OK)
	r, err := old.Recv()
	expect("reflection v1alpha", err, codes.OK)
	check(len(r.GetListServicesResponse().GetService()) >= 4, "reflection v1alpha: %v", r)
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "--certificates" {
		if err := certificates(os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	address := os.Args[len(os.Args)-1]
	conn, err := dial(address, os.Getenv("CUZK_TOKEN"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if len(os.Args) == 3 && os.Args[1] == "--watch" {
		watch(conn)
	} else {
		c := cuzkv1.NewProvingEngineClient(conn)
		healthy(conn)
		reflected(conn)
		jobs(c)
		waiting(c)
		views(c)
		refusals(conn, c)
		tokens(address)
		large(c)
	}
	conn.Close()
	fmt.Printf("grpc-go %s at %s: %d checks, %d failed\n", grpc.Version, address, checks, failures)
	if failures > 0 {
		os.Exit(1)
	}
}
