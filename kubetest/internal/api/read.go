// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// get serves an object, a list or a watch.
func (c *call) get() error {
	if c.ref.Name == "" {
		if !slices.Contains(c.kind.Verbs, "list") {
			return notAllowed()
		}
		return c.listOrWatch()
	}
	version, err := parseVersion(c.query.Get("resourceVersion"))
	if err != nil {
		return failure(err.Error())
	}
	if newest := c.Store.Version(); version > newest {
		return tooLarge(version, newest)
	}
	var obj *unstructured.Unstructured
	err = c.Store.Update(true, func(tx *store.Tx) (err error) {
		w := &write{Server: c.Server, tx: tx, kind: c.kind, ref: c.ref}
		if c.subresource == "scale" {
			obj, err = w.liveScale()
			return err
		}
		obj, err = w.stored()
		return err
	})
	switch {
	case err != nil:
		return err
	case c.subresource == "scale":
		respond(c.w, http.StatusOK, obj.Object)
		return nil
	case slices.Contains([]string{"", "status", "approval", "resize", "ephemeralcontainers"}, c.subresource):
		return c.respond(http.StatusOK, obj)
	default:
		return unsupported("the subresource " + c.subresource)
	}
}

func (c *call) listOrWatch() error {
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	s, err := c.newSelection(o)
	if err != nil {
		return err
	}
	f, err := c.form()
	if err != nil {
		return err
	}
	if o.Watch {
		return c.watch(o, s, f)
	}
	items, meta, err := c.list(o, s)
	if err != nil {
		return err
	}
	return c.respondList(f, items, meta)
}

// respondList sends a list in the version of the request.
func (c *call) respondList(f form, items []*unstructured.Unstructured, meta metav1.ListMeta) error {
	content := make([]any, len(items))
	for i, obj := range items {
		obj, err := c.kind.convert(obj)
		if err != nil {
			return err
		}
		content[i] = f.itemOf(c.kind, obj)
	}
	respond(c.w, http.StatusOK, f.listOf(c.kind, content, meta))
	return nil
}

func (c *call) listOptions() (*internalversion.ListOptions, error) {
	o := &internalversion.ListOptions{}
	err := options(c, o, "ListOptions", func(o *internalversion.ListOptions) field.ErrorList {
		internalversion.SetListOptionsDefaults(o, true)
		return validation.ValidateListOptions(o, true)
	})
	return o, err
}

// list returns a page of the selected objects.
func (c *call) list(o *internalversion.ListOptions, s *selection) ([]*unstructured.Unstructured, metav1.ListMeta, error) {
	at, after, err := c.position(o)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	objects, version, err := c.Store.List(c.kind.stored(), at)
	if errors.Is(err, core.ErrExpired) {
		return nil, metav1.ListMeta{}, expiredList(o)
	} else if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		return !s.has(obj) || after != "" && pathOf(obj) <= after
	})
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if limit := int(o.Limit); limit > 0 && len(objects) > limit {
		meta.Continue = pageToken{Version: "meta.k8s.io/v1", ResourceVersion: version, Start: pathOf(objects[limit-1])}.encode()
		if s.all() {
			meta.RemainingItemCount = new(int64(len(objects) - limit))
		}
		objects = objects[:limit]
	}
	return objects, meta, nil
}

// position returns the version of a list, or 0 for the newest, and the path of the last object of the page before.
func (c *call) position(o *internalversion.ListOptions) (version uint64, after string, err error) {
	if o.Continue != "" {
		if o.ResourceVersion != "" && o.ResourceVersion != "0" {
			return 0, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		token, err := decodePage(o.Continue)
		if err != nil {
			return 0, "", apierrors.NewBadRequest("invalid continue token: " + err.Error())
		}
		return token.ResourceVersion, token.Start, nil
	}
	version, err = parseVersion(o.ResourceVersion)
	if err != nil {
		return 0, "", apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	if newest := c.Store.Version(); version > newest {
		return 0, "", tooLarge(version, newest)
	}
	// A limit without a match means the exact version, for compatibility with servers before 1.19:
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
	if o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.ResourceVersionMatch == "" && o.Limit > 0 {
		return version, "", nil
	}
	return 0, "", nil
}

func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), text, err.Error())
	}
	return version, nil
}

func tooLarge(version, newest uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, newest), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"},
	}
	return err
}

func expiredList(o *internalversion.ListOptions) error {
	if o.Continue == "" {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"You must start a new list without the continue parameter.")
}

// pathOf returns the path that objects of a kind are sorted by.
func pathOf(obj *unstructured.Unstructured) string { return obj.GetNamespace() + "/" + obj.GetName() }

// pageToken is the content of a continue token.
type pageToken struct {
	Version         string `json:"v"`
	ResourceVersion uint64 `json:"rv"`
	Start           string `json:"start"`
}

func (t pageToken) encode() string {
	data, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func decodePage(text string) (pageToken, error) {
	var t pageToken
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	switch {
	case err != nil:
		return t, fmt.Errorf("continue key is not valid: %w", err)
	case t.Version != "meta.k8s.io/v1":
		return t, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %s", t.Version)
	case t.ResourceVersion != 0 && t.Start == "":
		return t, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	case t.ResourceVersion == 0 || !strings.Contains(t.Start, "/"):
		return t, errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	}
	return t, nil
}
