// The parts of kubelet 1.30 that find plugins and have claims prepared, without the rest of kubelet.
//
// Each line on standard input is a command, each line on standard output its answer in JSON:
//
//	registered DRIVER    wait until a plugin of this driver is registered
//	forgotten DRIVER     wait until none is
//	prepare POD          have the claims of a pod in the namespace default prepared; says which devices its first container gets
//	unprepare POD        have them unprepared
//	restart              read the state anew, as kubelet does when it starts
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra/plugin"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

const patience = 2 * time.Minute

type answer struct {
	Error       string            `json:"error,omitempty"`
	Devices     []string          `json:"devices,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// node has what kubelet has: the state directory, and the manager that reads it.
type node struct {
	client  kubernetes.Interface
	state   string
	name    string
	manager *dra.ManagerImpl
}

// sources says that kubelet knows its pods, for which it waits before it looks for plugins.
type sources struct{}

func (sources) AddSource(string) {}
func (sources) AllReady() bool   { return true }

func main() {
	kubeconfig, registry, state, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	exitOn(err)
	client, err := kubernetes.NewForConfig(config)
	exitOn(err)
	n := &node{client: client, state: state, name: name}
	exitOn(n.restart())

	plugins := pluginmanager.NewPluginManager(registry, record.NewFakeRecorder(100))
	plugins.AddHandler("DRAPlugin", plugin.NewRegistrationHandler(client, func() (*v1.Node, error) {
		return client.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
	}))
	go plugins.Run(sources{}, make(chan struct{}))

	output := json.NewEncoder(os.Stdout)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		command, argument, _ := strings.Cut(input.Text(), " ")
		result, err := n.do(command, argument)
		if err != nil {
			result.Error = err.Error()
		}
		exitOn(output.Encode(result))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (n *node) do(command, argument string) (answer, error) {
	switch command {
	case "registered":
		return answer{}, wait(argument, true)
	case "forgotten":
		return answer{}, wait(argument, false)
	case "restart":
		return answer{}, n.restart()
	case "prepare":
		return n.prepare(argument)
	case "unprepare":
		pod, err := n.pod(argument)
		if err != nil {
			return answer{}, err
		}
		return answer{}, n.manager.UnprepareResources(pod)
	}
	return answer{}, fmt.Errorf("no such command: %q", command)
}

func wait(driver string, registered bool) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := plugin.NewDRAPluginClient(driver); (err == nil) == registered {
			return nil
		}
	}
	return fmt.Errorf("registered is not %v: %s", registered, driver)
}

func (n *node) restart() (err error) {
	n.manager, err = dra.NewManagerImpl(n.client, n.state, types.NodeName(n.name))
	return err
}

func (n *node) pod(name string) (*v1.Pod, error) {
	return n.client.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
}

func (n *node) prepare(name string) (answer, error) {
	pod, err := n.pod(name)
	if err != nil {
		return answer{}, err
	}
	if err := n.manager.PrepareResources(pod); err != nil {
		return answer{}, err
	}
	info, err := n.manager.GetResources(pod, &pod.Spec.Containers[0])
	if err != nil {
		return answer{}, err
	}
	result := answer{Annotations: map[string]string{}}
	for _, device := range info.CDIDevices {
		result.Devices = append(result.Devices, device.Name)
	}
	for _, annotation := range info.Annotations {
		result.Annotations[annotation.Name] = annotation.Value
	}
	return result, nil
}
